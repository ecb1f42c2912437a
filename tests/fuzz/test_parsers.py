"""Each parser refuses invalid input in one sentence, or accepts it."""

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS

SLOW = {"documents", "mounts-survey", "sysfs", "tools", "scenarios", "small-files"}


@cache
def inputs(name: str) -> st.SearchStrategy[bytes]:
    """Arbitrary bytes, and valid input with a replaced piece."""
    seeds = st.sampled_from(TARGETS[name].seeds())
    piece = st.one_of(st.binary(max_size=40), st.sampled_from((b"", b"\xff", b"9" * 5000, b"\n", b"\0", b"\x1b[31m")))
    spoilt = st.tuples(seeds, st.integers(0, 1 << 16), st.integers(0, 40), piece).map(_spoilt)
    return st.one_of(st.binary(max_size=300), spoilt, spoilt)


def _spoilt(how: tuple[bytes, int, int, bytes]) -> bytes:
    seed, at, length, piece = how
    at %= len(seed) + 1
    return seed[:at] + piece + seed[at + length :]


@pytest.mark.parametrize("name", TARGETS)
def test_parsers_raise_only_their_own_errors(name: str) -> None:
    most = settings().max_examples // (4 if name in SLOW else 1)

    @settings(max_examples=most, suppress_health_check=list(HealthCheck))
    @given(inputs(name))
    def attempt(data: bytes) -> None:
        TARGETS[name].attempt(data)

    for seed in TARGETS[name].seeds()[:20]:
        TARGETS[name].attempt(seed)
    attempt()
