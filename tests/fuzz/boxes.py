"""A made-up host with every kind of storage, whose files a fuzzer may change."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from fstui.storage.tree import SMALL_BYTES, Tree
from tests.fuzz.inputs import Choices
from tests.storage.test_robustness import ANSWERS, files_of, full_box, look_at_everything

MAX_FILES = 4
MISSING, DIRECTORY = b"missing", b"directory"


@cache
def home() -> Path:
    """Return a directory that is removed with this process or with the bench that started it."""
    made = Path(tempfile.mkdtemp(prefix="fstui-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def pristine() -> tuple[Path, list[str]]:
    """Return the directory of the host, and the names of its files."""
    root = full_box(home() / "box").root
    return root, [name for name in files_of(root) if not (root / name).is_symlink()]


def survey_damaged(data: bytes) -> None:
    """Change up to four files, remove them, or replace them by directories. Then survey everything."""
    root, names = pristine()
    choices = Choices(data)
    before: dict[Path, bytes] = {}
    try:
        for _ in range(1 + choices.number() % MAX_FILES):
            path = root / choices.one_of(names)
            if path in before:
                continue
            before[path] = path.read_bytes()
            path.unlink()
            if (content := choices.piece()) == DIRECTORY:
                path.mkdir()
            elif content != MISSING:
                path.write_bytes(content)
        look_at_everything(root)
    finally:
        for path, content in before.items():
            if path.is_dir():
                path.rmdir()
            path.write_bytes(content)


def survey_mounts(data: bytes) -> None:
    """Survey the host with ``data`` as its last mounts."""
    root, _ = pristine()
    mountinfo = root / "proc/self/mountinfo"
    before = mountinfo.read_bytes()
    try:
        mountinfo.write_bytes(before[: before.rindex(b"\n", 0, -1) + 1] + data)
        look_at_everything(root)
    finally:
        mountinfo.write_bytes(before)


def seeds_of_files() -> list[bytes]:
    """Return inputs that replace each file by its own content, by a directory or by nothing."""
    root, names = pristine()
    width = 1 if len(names) < 256 else 2
    return [
        b"\0" + number.to_bytes(width, "little") + bytes([len(data)]) + data
        for number, name in enumerate(names)
        for data in ((root / name).read_bytes()[:255], MISSING, DIRECTORY)
    ]


def survey_answers(data: bytes) -> None:
    """Survey the host with ``data`` as the output of one of its tools."""
    root, _ = pristine()
    choices, answers = Choices(data), dict(ANSWERS)
    answers[choices.one_of(sorted(answers))] = type(next(iter(answers.values())))(
        output=choices.rest().decode(errors="surrogateescape")
    )
    look_at_everything(root, answers)


def seeds_of_answers() -> list[bytes]:
    """Return the normal output of the tools."""
    return [bytes([number]) + ANSWERS[name].output.encode() for number, name in enumerate(sorted(ANSWERS))]


class OneFile(Tree):
    """A host on which every path is a file with this content."""

    def __init__(self, content: bytes) -> None:
        super().__init__(Path("/nonexistent"))
        self._content = content

    def data(self, path: str, limit_bytes: int = SMALL_BYTES) -> bytes | None:
        return self._content[:limit_bytes]

    def exists(self, path: str) -> bool:
        return True
