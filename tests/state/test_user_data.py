import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.run import OwnReference
from fstui.state import files, paths, user_data
from fstui.state.user_data import TakenLesson


def declared(identity: str) -> Declaration | None:
    return user_data.declarations().get(identity)


def test_declarations_are_kept_by_target() -> None:
    user_data.declare("disk-a", Declaration(medium="hdd-7200", write_cache="none"))
    user_data.declare("disk-b", Declaration(medium="ssd"))
    assert declared("disk-a") == Declaration(medium="hdd-7200", write_cache="none", remembered=True)
    assert declared("disk-b") == Declaration(medium="ssd", remembered=True)
    assert declared("disk-c") is None


def test_a_declaration_can_be_replaced_and_removed() -> None:
    user_data.declare("disk-a", Declaration(medium="hdd-7200"))
    user_data.declare("disk-a", Declaration(write_cache="plp"))
    assert declared("disk-a") == Declaration(write_cache="plp", remembered=True)
    user_data.declare("disk-a", Declaration())
    user_data.declare("disk-a", Declaration())
    assert declared("disk-a") is None


def write(name: str, text: str) -> Path:
    path = files.create_private_directory(paths.state_dir()) / name
    path.write_text(text)
    return path


DAMAGED = ["", '{"disk-a": {"med', "[1]", '{"disk-a":' * 100_000]


@pytest.mark.parametrize("text", DAMAGED, ids=["empty", "cut off", "a list", "deeply nested"])
@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("declarations.json", lambda: user_data.declare("disk-b", Declaration(medium="ssd"))),
        ("notes.json", lambda: user_data.save_note("k3f9a1", "slow since Monday")),
        ("lessons.json", lambda: user_data.save_lesson("one", TakenLesson(day="2026-11-28", right=2))),
        ("references.json", lambda: user_data.add_references([reference("a", 100)])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_file_is_not_replaced(name: str, save: Callable[[], None], text: str) -> None:
    path = write(name, text)
    with pytest.raises(Refused, match=rf"{name}: .*Correct this file, or move it away"):
        save()
    assert path.read_text() == text


def test_damaged_declarations_are_reported() -> None:
    path = write("declarations.json", '{"disk-a": {"medium": "cheese"}}')
    with pytest.raises(Refused, match=f"{path}: Invalid enum value 'cheese'"):
        user_data.declarations()


def test_declarations_of_a_later_version_are_kept() -> None:
    path = write("declarations.json", '{"disk-a": {"medium": "cheese", "owner": "ada"}, "disk-b": {"medium": "ssd"}}')
    user_data.declare("disk-b", Declaration(medium="optane"))
    assert json.loads(path.read_text()) == {
        "disk-a": {"medium": "cheese", "owner": "ada"}, "disk-b": {"medium": "optane"},
    }  # fmt: skip


def test_references_of_a_later_version_are_kept() -> None:
    later = {"name": "a", "owner": "ada"}
    path = write("references.json", json.dumps([later]))
    user_data.add_references([reference("b", 100)])
    assert [entry["name"] for entry in json.loads(path.read_text())] == ["a", "b"]
    assert json.loads(path.read_text())[0] == later


def test_damaged_notes_do_not_hide_the_history() -> None:
    path = write("notes.json", "{")
    user_data.forget_notes(["k3f9a1"])
    assert user_data.notes() == {} and path.read_text() == "{"


def reference(name: str, per_s: float) -> OwnReference:
    return OwnReference(
        name=name, operation="fsync", block_bytes=4096, media=("ssd",), slowest_per_s=per_s, per_s=per_s
    )


def test_a_reference_replaces_one_of_the_same_name() -> None:
    user_data.add_references([reference("a", 100), reference("b", 200)])
    user_data.add_references([reference("a", 300)])
    assert {one.name: one.per_s for one in user_data.own_references()} == {"a": 300, "b": 200}


def test_an_unknown_reference_is_refused_when_removed() -> None:
    user_data.add_references([reference("db hosts", 100)])
    with pytest.raises(Refused, match=r"is called 'db hots'\. Did you mean 'db hosts'\?"):
        user_data.remove_references("db hots")
    user_data.remove_references("db hosts")
    assert user_data.own_references() == ()


def test_damaged_references_are_reported() -> None:
    write("references.json", '[{"name": 7}]')
    assert user_data.readable_references() == ()
    with pytest.raises(Refused, match=r"references\.json: Expected `str`"):
        user_data.own_references()


@pytest.mark.parametrize("text", ["theme = ", 'theme = "nord"\nfont = "mono"\n'], ids=["damaged", "a later version"])
def test_a_theme_file_that_fstui_cannot_keep_is_not_replaced(text: str) -> None:
    path = files.create_private_directory(paths.config_dir()) / "theme.toml"
    path.write_text(text)
    with pytest.raises(Refused, match=r"theme\.toml"):
        user_data.save_theme("gruvbox")
    assert path.read_text() == text


def test_a_theme_is_saved_and_replaced() -> None:
    user_data.save_theme("nord")
    user_data.save_theme("gruvbox")
    assert user_data.theme() == "gruvbox"


@pytest.mark.parametrize(
    "text", ["= ", '"storage.sort" = 7', "a = " + "9" * 5000, "a = " + "[" * 3000, b"a = '\xff'"],
    ids=["no key", "a number", "a very long number", "nested brackets", "not UTF-8"],
)  # fmt: skip
def test_an_invalid_file_of_keys_is_refused_by_name(text: str | bytes) -> None:
    files.create_private_directory(paths.config_dir())
    (paths.config_dir() / "keys.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Refused, match=r"keys\.toml"):
        user_data.keys()


def test_without_a_file_no_key_is_changed() -> None:
    assert user_data.keys() == {}
