"""Memory does not grow with the length of a step: the bench ``long``, shortened."""

import pytest

from tests.bench import long


@pytest.mark.parametrize("fed", [long.samples, long.watched])
def test_memory_does_not_grow_with_the_samples(fed: long.Part) -> None:
    assert next(fed(0.003)), "it grew"
