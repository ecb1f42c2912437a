import pytest

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.run import OwnReference
from fstui.state import files, paths, user_data


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


def test_a_broken_file_is_empty_and_is_replaced() -> None:
    files.create_private_directory(paths.state_dir())
    (paths.state_dir() / "declarations.json").write_text('{"disk-a": {"medium": "cheese"}}')
    assert declared("disk-a") is None
    user_data.declare("disk-a", Declaration(medium="ssd"))
    assert declared("disk-a") == Declaration(medium="ssd", remembered=True)


def test_a_deeply_nested_file_is_empty() -> None:
    files.create_private_directory(paths.state_dir())
    (paths.state_dir() / "declarations.json").write_text('{"disk-a":' * 100_000)
    assert declared("disk-a") is None


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


def test_a_broken_file_of_references_is_empty() -> None:
    files.create_private_directory(paths.state_dir())
    (paths.state_dir() / "references.json").write_text('[{"name": 7}]')
    assert user_data.own_references() == ()


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
