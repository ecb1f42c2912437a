"""The small JSON files of the state directory."""

import pytest

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.run import OwnReference
from fstui.state import files, paths, remembered


def recalled(identity: str) -> Declaration | None:
    return remembered.declarations().get(identity)


def test_what_was_declared_is_recalled_per_target() -> None:
    remembered.declare("disk-a", Declaration(medium="hdd-7200", write_cache="none"))
    remembered.declare("disk-b", Declaration(medium="ssd"))
    assert recalled("disk-a") == Declaration(medium="hdd-7200", write_cache="none", remembered=True)
    assert recalled("disk-b") == Declaration(medium="ssd", remembered=True)
    assert recalled("disk-c") is None


def test_a_later_declaration_replaces_the_earlier_one_and_can_be_forgotten() -> None:
    remembered.declare("disk-a", Declaration(medium="hdd-7200"))
    remembered.declare("disk-a", Declaration(write_cache="plp"))
    assert recalled("disk-a") == Declaration(write_cache="plp", remembered=True)
    remembered.declare("disk-a", Declaration())
    remembered.declare("disk-a", Declaration())
    assert recalled("disk-a") is None


def test_a_broken_file_declares_nothing_and_is_replaced() -> None:
    files.make_private(paths.state_dir())
    (paths.state_dir() / "declarations.json").write_text('{"disk-a": {"medium": "cheese"}}')
    assert recalled("disk-a") is None
    remembered.declare("disk-a", Declaration(medium="ssd"))
    assert recalled("disk-a") == Declaration(medium="ssd", remembered=True)


def reference(name: str, per_s: float) -> OwnReference:
    return OwnReference(
        name=name, operation="fsync", block_bytes=4096, media=("ssd",), slowest_per_s=per_s, per_s=per_s
    )


def test_a_reference_replaces_an_earlier_one_of_its_name() -> None:
    remembered.add_references([reference("a", 100), reference("b", 200)])
    remembered.add_references([reference("a", 300)])
    assert {one.name: one.per_s for one in remembered.own_references()} == {"a": 300, "b": 200}


def test_an_unknown_reference_is_refused_when_removed() -> None:
    remembered.add_references([reference("db hosts", 100)])
    with pytest.raises(Refused, match=r"is called 'db hots'\. Did you mean 'db hosts'\?"):
        remembered.remove_references("db hots")
    remembered.remove_references("db hosts")
    assert remembered.own_references() == ()


def test_a_broken_file_holds_no_reference() -> None:
    files.make_private(paths.state_dir())
    (paths.state_dir() / "references.json").write_text('[{"name": 7}]')
    assert remembered.own_references() == ()
