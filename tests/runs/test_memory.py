"""Memory stays as it is however long a step lasts: the bench ``long`` in a shortened form."""

import pytest

from tests.bench import long


@pytest.mark.parametrize("fed", [long.samples, long.watched])
def test_memory_does_not_grow_with_the_samples(fed: long.Part) -> None:
    assert next(fed(0.003)), "it grew"
