from fstui.state import declarations, files, paths
from fstui.state.declarations import Declaration


def test_what_was_declared_is_recalled_per_target() -> None:
    declarations.remember("disk-a", Declaration(medium="hdd-7200", write_cache="none"))
    declarations.remember("disk-b", Declaration(medium="ssd"))
    assert declarations.recall("disk-a") == Declaration(medium="hdd-7200", write_cache="none")
    assert declarations.recall("disk-b") == Declaration(medium="ssd")
    assert declarations.recall("disk-c") is None


def test_a_later_declaration_replaces_the_earlier_one_and_can_be_forgotten() -> None:
    declarations.remember("disk-a", Declaration(medium="hdd-7200"))
    declarations.remember("disk-a", Declaration(write_cache="plp"))
    assert declarations.recall("disk-a") == Declaration(write_cache="plp")
    declarations.forget("disk-a")
    declarations.forget("disk-a")
    assert declarations.recall("disk-a") is None


def test_a_broken_file_declares_nothing_and_is_replaced() -> None:
    files.make_private(paths.state_dir())
    (paths.state_dir() / "declarations.json").write_text('{"disk-a": {"medium": "cheese"}}')
    assert declarations.recall("disk-a") is None
    declarations.remember("disk-a", Declaration(medium="ssd"))
    assert declarations.recall("disk-a") == Declaration(medium="ssd")
