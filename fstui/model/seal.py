"""A digest in the run document: whoever reads it again knows whether it is as it was written.

SHA-256 of the document without ``digest``, as compact JSON in the order of its keys: indented, or made compact again,
it is the same document. It tells of damage and of a hand that changed a number; a forger can make a new one. Documents
of versions before it have none.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec.structs import replace

from fstui.model.documents import encode
from fstui.model.run import Run

_KEY, _END = b',"digest":"', b'"}'
ALTERED = "altered after it was written: its digest is of another document"


def sealed(run: Run) -> Run:
    """The run with the digest of what it is now."""
    body, _, _ = encode(replace(run, digest="")).rpartition(_KEY)
    return replace(run, digest=_digest(body + b"}"))


def is_altered(document: bytes) -> bool:
    """It has a digest, and that is another document's. What is no document is not altered either."""
    body, key, said = document.rstrip().rpartition(_KEY)
    if key and said == _digest(body + b"}").encode() + _END:  # as we write it
        return False
    if b'"digest"' not in document:  # of before there were any: a history may hold thousands
        return False
    try:
        read = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    digest = read.pop("digest", "") if isinstance(read, dict) else ""
    return bool(digest) and digest != _digest(encode(read))


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
