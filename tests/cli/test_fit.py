import csv
import json
from pathlib import Path

import pytest

from fstui.judge.fitness import products
from fstui.report.text import verdict_label
from tests.cli.conftest import Fstui


@pytest.mark.slow
def test_table_answers_for_every_product(fstui: Fstui, target: Path) -> None:
    done = fstui("fit", "--yes", "--trace", "off", str(target), "--format", "json")
    assert done.returncode == 0, done.stderr
    (directory,) = json.loads(done.stdout)["directories"]
    assert [fit["product"] for fit in directory["fit"]] == [product.name for product in products()]
    assert {fit["source"] for fit in directory["fit"]} == {product.source for product in products()}
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    ("disk", "product", "status", "words"),
    [
        ("ssd-plp", "etcd", 0, "etcd"),
        ("hdd-7200", "etcd", 3, "etcd"),
        ("hdd-7200", "zookeeper", 0, "zookeeper"),
        ("hdd-7200-lying", "etcd", 3, "? fits only if the syncs are real"),
        ("hdd-7200-eatmydata", "etcd", 3, "not answered"),
    ],
)
def test_exit_status_of_a_preflight_check(fstui: Fstui, disk: str, product: str, status: int, words: str) -> None:
    done = fstui("fit", "--simulate", disk, "--for", product)
    assert done.returncode == status, done.stderr
    assert words in done.stdout.decode().lower() and b"SIMULATED" in done.stdout


def test_json_has_only_the_named_product(fstui: Fstui) -> None:
    done = fstui("fit", "--simulate", "ssd-plp", "--for", "etcd", "--format", "json")
    (directory,) = json.loads(done.stdout)["directories"]
    (etcd,) = directory["fit"]
    assert etcd["product"] == "etcd" and etcd["rate_per_s"] > 500 and etcd["p99_ns"] < 10**7


@pytest.mark.parametrize("product", ["", "etcd"])
@pytest.mark.parametrize("disk", ["ssd-plp", "hdd-7200", "hdd-7200-lying", "hdd-7200-eatmydata"])
def test_csv_has_the_verdict_and_the_same_exit_status(fstui: Fstui, disk: str, product: str) -> None:
    arguments = ("fit", "--simulate", disk, *(("--for", product) if product else ()))
    plain, table = (fstui(*arguments, "--format", name) for name in ("plain", "csv"))
    records = list(csv.DictReader(table.stdout.decode().splitlines()))
    label = verdict_label(records[0]["verdict"])  # type: ignore[arg-type]
    assert plain.returncode == table.returncode and label in plain.stdout.decode()
    answered = [record for record in records if record["answer"]]
    assert all(float(record["rate_per_s"]) > 0 and int(record["longest_ns"]) > 0 for record in answered)
    assert answered or records[0]["trouble"].startswith("Not answered: the syncs make nothing durable")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("etdc", "Did you mean 'etcd'?"),
        ("oracle", "Redis everysec; CockroachDB; Proxmox VE."),
        ("kafka", "Kafka with flush.messages=1 publishes no threshold"),
        ("postgresql", "measured rate. Choose one of: etcd; ZooKeeper;"),
    ],
)
def test_refuses_other_products(fstui: Fstui, name: str, words: str) -> None:
    done = fstui("fit", "/", "--for", name)
    assert done.returncode == 2 and words in done.stderr.decode()
