"""What is said of each frozen run today, word for word.

``python -m tests.judge.sentences`` writes it down anew: a change of wording shows as one.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run

FROZEN = Path(__file__).parent / "frozen"
WRITTEN = Path(__file__).parent / "sentences.json"


def sentences(document: bytes) -> list[str]:
    """The run's own, then those of its findings."""
    again = judge(decode_run(document))
    return [again.sentence, *(f"{finding.rule}: {finding.sentence}" for finding in again.findings)]


def main() -> None:
    documents = {path.name.removesuffix(".json.gz"): path for path in sorted(FROZEN.iterdir())}
    said = {name: sentences(gzip.decompress(path.read_bytes())) for name, path in documents.items()}
    WRITTEN.write_bytes(msgspec.json.format(msgspec.json.encode(said), indent=1) + b"\n")


if __name__ == "__main__":
    main()
