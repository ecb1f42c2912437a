"""What a number of cuts proves: the share of cuts that lose data, with a confidence interval.

The interval is exact (Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26, 1934). Its confidence level is 95 %: half of the error probability of 5 % is on each side.
After n cuts without a loss, the lower end is 0 and the whole 5 % is on the upper side. So the upper end is
1 − 0.05^(1/n), which the rule of three approximates by 3/n. If each cut lost data, the whole 5 % is on the lower side.
"""

from collections.abc import Callable
from math import exp, fsum, lgamma, log, log1p

CONFIDENCE = 0.95
METHOD = "Clopper-Pearson"
_HALVINGS = 60


def interval(losses: int, cuts: int) -> tuple[float, float]:
    """Return both ends of the interval for the share of cuts that lose data; 0 and 1 if there was no cut."""
    if cuts == 0:
        return 0.0, 1.0
    tail = (1 - CONFIDENCE) / (1 if losses in (0, cuts) else 2)
    low = 0.0 if losses == 0 else _bisect(lambda share: 1 - _at_most(losses - 1, cuts, share) > tail)
    high = 1.0 if losses == cuts else _bisect(lambda share: _at_most(losses, cuts, share) < tail)
    return low, high


def _bisect(is_above: Callable[[float], bool]) -> float:
    """Return the lowest share for which ``is_above`` is true, if ``is_above`` is also true for every higher share."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2


def _at_most(losses: int, cuts: int, share: float) -> float:
    """Return the probability of at most this many losses: the cumulative binomial distribution."""
    return fsum(
        exp(lgamma(cuts + 1) - lgamma(k + 1) - lgamma(cuts - k + 1) + k * log(share) + (cuts - k) * log1p(-share))
        for k in range(losses + 1)
    )
