"""Record every sentence about each frozen run, so that a change of wording appears in a diff.

Run ``python -m tests.judge.sentences`` after such a change.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run

FROZEN = Path(__file__).parent / "frozen"
WRITTEN = Path(__file__).parent / "sentences.json"


def sentences(document: bytes) -> list[str]:
    """Return the sentence of the verdict, then title, sentence and next steps of each finding."""
    return list(_sentences(document))


def _sentences(document: bytes) -> Iterator[str]:
    again = judge(decode_run(document))
    yield again.sentence
    for finding in again.findings:
        yield f"{finding.rule}: {finding.title}"
        yield from (finding.sentence, *(f"Next: {line}" for line in finding.next))


def main() -> None:
    documents = {path.name.removesuffix(".json.gz"): path for path in sorted(FROZEN.iterdir())}
    found = {name: sentences(gzip.decompress(path.read_bytes())) for name, path in documents.items()}
    WRITTEN.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


if __name__ == "__main__":
    main()
