import json
from pathlib import Path

import pytest

from fstui.judge.fitness import products
from tests.cli.conftest import Fstui

QUICK = ("fit", "--yes", "--trace", "off")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, fstui: Fstui, target: Path) -> Fstui:
    return lambda *words: fstui(*QUICK, str(target), *words)


@pytest.mark.slow
def test_table_answers_for_every_product(quick: Fstui, target: Path) -> None:
    done = quick("--format", "json")
    assert done.returncode == 0, done.stderr
    (directory,) = json.loads(done.stdout)["directories"]
    assert [fit["product"] for fit in directory["fit"]] == [product.name for product in products()]
    assert {fit["source"] for fit in directory["fit"]} == {product.source for product in products()}
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    ("disk", "product", "status"),
    [("ssd-plp", "etcd", 0), ("hdd-7200", "etcd", 3), ("hdd-7200", "zookeeper", 0)],
)
def test_exit_status_of_a_preflight_check(fstui: Fstui, disk: str, product: str, status: int) -> None:
    done = fstui("fit", "--simulate", disk, "--for", product)
    assert done.returncode == status, done.stderr
    assert product in done.stdout.decode().lower() and b"SIMULATED" in done.stdout


def test_syncs_in_doubt_fit_only_if_they_are_real(fstui: Fstui) -> None:
    done = fstui("fit", "--simulate", "hdd-7200-lying", "--for", "etcd")
    assert done.returncode == 3 and "? fits only if the syncs are real" in done.stdout.decode()


def test_no_table_where_syncs_are_lost(fstui: Fstui) -> None:
    done = fstui("fit", "--simulate", "hdd-7200-eatmydata", "--for", "etcd")
    assert done.returncode == 3 and b"Not answered" in done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("etdc", "Did you mean 'etcd'?"),
        ("oracle", "Redis everysec; CockroachDB; Proxmox VE."),
        ("kafka", "Kafka with flush.messages=1 publishes no threshold"),
    ],
)
def test_refuses_other_products(fstui: Fstui, name: str, words: str) -> None:
    done = fstui("fit", "/", "--for", name)
    assert done.returncode == 2 and words in done.stderr.decode()
