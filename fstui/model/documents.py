"""Documents as JSON, with a digest that shows later whether a run document was changed.

The digest is the SHA-256 of the document without ``digest``, as compact JSON with the keys in their original order, so
indentation does not matter. It detects damage and edited numbers. It does not stop a forger, who can compute a new
digest.
"""

import hashlib
from typing import Any

import msgspec
from msgspec.structs import replace

from fstui.model.run import Run

_KEY, _END = b',"digest":"', b'"}'
ALTERED = "altered after it was written: its digest does not match"


def encode(document: object) -> bytes:
    """Return the document as JSON. Undecodable bytes in names become a visible ``\\xNN``, which JSON can hold."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(document)))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


def with_digest(run: Run) -> Run:
    # the digest is the last field of a run
    body, _, _ = encode(replace(run, digest="")).rpartition(_KEY)
    return replace(run, digest=_digest(body + b"}"))


def is_altered(document: bytes) -> bool:
    """Return whether a document has a digest that does not match it. False without a digest, or if it is not JSON."""
    body, key, stated_digest = document.rstrip().rpartition(_KEY)
    if key and stated_digest == _digest(body + b"}").encode() + _END:  # written by fstui: no need to decode
        return False
    if b'"digest"' not in document:  # an old document without a digest; decoding thousands of them would be slow
        return False
    try:
        decoded = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    digest = decoded.pop("digest", "") if isinstance(decoded, dict) else ""
    return bool(digest) and digest != _digest(encode(decoded))


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
