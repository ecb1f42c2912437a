from fstui.model.declaration import Declaration
from fstui.state import declarations, files, paths


def recalled(identity: str) -> Declaration | None:
    """What was declared of it on another day."""
    return declarations.recall().get(identity)


def test_what_was_declared_is_recalled_per_target() -> None:
    declarations.remember("disk-a", Declaration(medium="hdd-7200", write_cache="none"))
    declarations.remember("disk-b", Declaration(medium="ssd"))
    assert recalled("disk-a") == Declaration(medium="hdd-7200", write_cache="none", remembered=True)
    assert recalled("disk-b") == Declaration(medium="ssd", remembered=True)
    assert recalled("disk-c") is None


def test_a_later_declaration_replaces_the_earlier_one_and_can_be_forgotten() -> None:
    declarations.remember("disk-a", Declaration(medium="hdd-7200"))
    declarations.remember("disk-a", Declaration(write_cache="plp"))
    assert recalled("disk-a") == Declaration(write_cache="plp", remembered=True)
    declarations.remember("disk-a", Declaration())
    declarations.remember("disk-a", Declaration())
    assert recalled("disk-a") is None


def test_a_broken_file_declares_nothing_and_is_replaced() -> None:
    files.make_private(paths.state_dir())
    (paths.state_dir() / "declarations.json").write_text('{"disk-a": {"medium": "cheese"}}')
    assert recalled("disk-a") is None
    declarations.remember("disk-a", Declaration(medium="ssd"))
    assert recalled("disk-a") == Declaration(medium="ssd", remembered=True)
