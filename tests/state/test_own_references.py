import pytest

from fstui.model.errors import Refused
from fstui.model.own_references import OwnReference
from fstui.state import files, own_references, paths


def reference(name: str, per_s: float) -> OwnReference:
    return OwnReference(
        name=name, operation="fsync", block_bytes=4096, media=("ssd",), slowest_per_s=per_s, per_s=per_s
    )


def test_they_are_kept_by_name_and_a_later_one_takes_the_place_of_the_earlier() -> None:
    own_references.add([reference("a", 100), reference("b", 200)])
    own_references.add([reference("a", 300)])
    assert {one.name: one.per_s for one in own_references.recall()} == {"a": 300, "b": 200}


def test_one_is_forgotten_by_its_name_and_an_unknown_one_is_refused() -> None:
    own_references.add([reference("db hosts", 100)])
    with pytest.raises(Refused, match=r"is called 'db hots'\. Did you mean 'db hosts'\?"):
        own_references.remove("db hots")
    own_references.remove("db hosts")
    assert own_references.recall() == ()


def test_a_broken_file_holds_none() -> None:
    files.make_private(paths.state_dir())
    (paths.state_dir() / "references.json").write_text('[{"name": 7}]')
    assert own_references.recall() == ()
