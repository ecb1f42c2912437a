"""Find the hosts that differ from their peers, and the settings that may explain it.

A host and its peers form a group. They have the same layers on the same model of disk at the same provider.

A rate is an outlier if both of these conditions are true:

- It is further from the median of its group than 3.5 times the median absolute deviation (MAD) of the group, scaled to
  a standard deviation (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993).
- It differs by a quarter or more. Without this condition, a difference of 1 % would make a host an outlier in a group
  whose rates are almost equal.

Logarithms are compared, so that half the rate is as far away as double the rate.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log
from statistics import median
from typing import NamedTuple

import msgspec

from fstui.fleet.results import HostResult
from fstui.judge.words import capitalize
from fstui.model.base import Base
from fstui.model.judgement import VERDICTS
from fstui.model.quantities import rate

MAX_DEVIATIONS, MIN_RATIO = 3.5, 1.25
MAD_SCALE = 1.4826
"""MAD × this number is the standard deviation of a normal distribution."""
MIN_PEERS = 4
"""A host needs this many peers, because a median of fewer rates means little."""
MAJORITY = 0.75
"""A value is usual if this share of the peers has it."""
MAX_REASONS = 3
Ratios = dict[tuple[str, str, str], float]
"""The ratio of each rate to the median of its group, by host, target and step."""
_CACHE = {"write back": "on", "write through": "off"}
_FIRST_REASONS = ("write cache", "barrier", "stubs syncs", "io limit", "state", "dio", "medium")
"""Settings whose names contain one of these texts often explain a rate, so they are reported first."""


class Spread(msgspec.Struct, frozen=True):
    """The rates per second of one step on the hosts of a group that do not drop syncs."""

    step: str
    hosts: int
    least: float
    median: float
    mad: float
    most: float
    log_mad: float


class HostGroup(Base, frozen=True, kw_only=True):
    """Hosts with the same storage. Different settings or kernels may explain why one of them differs."""

    layers: str
    model: str
    cache: str
    kernel: str
    cloud: str
    hosts: tuple[str, ...]
    steps: tuple[Spread, ...]

    @property
    def description(self) -> str:
        details = (self.model, f"cache {self.cache}" if self.cache else "", self.kernel, self.cloud)
        return " · ".join(filter(None, (self.layers, *details)))


class Outlier(Base, frozen=True, kw_only=True):
    host: str
    target: str
    sentence: str
    ratio: float | None = None
    """The rate divided by the median of the group; None if the verdict differs."""


def groups(hosts: Iterable[HostResult]) -> list[tuple[HostGroup, list[HostResult]]]:
    """Return the groups with their hosts, the largest first."""
    by_storage: dict[tuple[str, str, str], list[HostResult]] = {}
    for host in hosts:
        by_storage.setdefault((host.layers, host.model, host.cloud), []).append(host)
    return [(_group(members), members) for members in sorted(by_storage.values(), key=len, reverse=True)]


def _group(members: Sequence[HostResult]) -> HostGroup:
    rates: dict[str, list[float]] = {}
    for host in members:
        for each in host.rates if host.comparable else ():
            if each.per_s > 0:
                rates.setdefault(each.step, []).append(each.per_s)
    return HostGroup(
        layers=members[0].layers,
        model=members[0].model,
        cache=_distinct_values(host.cache for host in members),
        kernel=_distinct_values(host.kernel for host in members),
        cloud=members[0].cloud,
        hosts=tuple(dict.fromkeys(host.node for host in members)),
        steps=tuple(_spread(step, rates_per_s) for step, rates_per_s in rates.items()),
    )


def outlying_rates(hosts: Sequence[HostResult]) -> list[Outlier]:
    """Return the hosts that are slower or faster than their peers, those that differ most first."""
    outliers = [outlier for group in groups(hosts) for outlier in _outliers(*group)]
    return sorted(outliers, key=lambda outlier: -abs(log(outlier.ratio or 1.0)))


def ratio_to_peers(hosts: Sequence[HostResult]) -> Ratios:
    deviations = (each for group in groups(hosts) for by_step in _deviations(*group) for each in by_step)
    return {(each.host.node, each.host.place, each.spread.step): each.ratio for each in deviations}


def _outliers(group: HostGroup, members: Sequence[HostResult]) -> Iterator[Outlier]:
    """Yield the outliers of one group. The reasons compare their settings with those of the other hosts."""
    by_host = _deviations(group, members)
    largest = [max(deviations, key=lambda each: (each.is_outlier, each.distance)) for deviations in by_host]
    outliers = [deviation for deviation in largest if deviation.is_outlier]
    settings = _UsualSettings([deviation.host for deviation in largest if not deviation.is_outlier])
    for deviation in outliers:
        reasons, spread = "; ".join(settings.reasons(deviation.host)), deviation.spread
        sentence = (
            f"{_factor_text(deviation.ratio)} × the median of its group of {spread.hosts} in {spread.step} "
            f"({rate(deviation.per_s)}/s, median {rate(spread.median)}/s, MAD {rate(spread.mad)}/s)"
        )
        sentence += f": {reasons}" if reasons else "; fstui found no setting that explains it"
        yield Outlier(host=deviation.host.node, target=deviation.host.place, sentence=sentence, ratio=deviation.ratio)


class _Deviation(NamedTuple):
    """The rate of one host in one step, and the rates of its group."""

    host: HostResult
    per_s: float
    spread: Spread

    @property
    def ratio(self) -> float:
        return self.per_s / self.spread.median

    @property
    def distance(self) -> float:
        return abs(log(self.ratio))

    @property
    def is_outlier(self) -> bool:
        limit = max(MAX_DEVIATIONS * MAD_SCALE * self.spread.log_mad, log(MIN_RATIO))
        return self.spread.hosts > MIN_PEERS and self.distance > limit


def _deviations(group: HostGroup, members: Sequence[HostResult]) -> Iterator[list[_Deviation]]:
    """Yield, for each comparable host, its deviations in the steps that other hosts also have."""
    spreads = {spread.step: spread for spread in group.steps if spread.hosts > 1}
    for host in members:
        rates = [each for each in host.rates if host.comparable and each.per_s > 0 and each.step in spreads]
        if rates:
            yield [_Deviation(host, each.per_s, spreads[each.step]) for each in rates]


def _spread(step: str, rates: Sequence[float]) -> Spread:
    middle = median(rates)
    log_mad = median(abs(log(per_s / middle)) for per_s in rates)
    mad = median(abs(per_s - middle) for per_s in rates)
    return Spread(step, len(rates), min(rates), middle, mad, max(rates), log_mad)


def _distinct_values(values: Iterable[str]) -> str:
    return " or ".join(filter(None, dict.fromkeys(values)))


def worse_verdicts(hosts: Sequence[HostResult]) -> list[Outlier]:
    """Return the hosts with a verdict worse than the median of their group, or of all if the group is small."""
    judged = [host for host in hosts if host.verdict]
    median_of_all = _median_rank(judged)
    sentences: list[tuple[HostResult, str]] = []
    for _, members in groups(judged):
        usual_rank = _median_rank(members) if len(members) > 2 else median_of_all
        group = f"its group of {len(members)}" if len(members) > 2 else "all hosts"
        worse = [host for host in members if host.rank < usual_rank]
        settings = _UsualSettings([host for host in members if host.rank == usual_rank])
        for host in worse:
            reasons = "; ".join(settings.reasons(host))
            verdict = f"{host.verdict} ({host.confidence}), the median of {group} is {VERDICTS[usual_rank]}"
            explanation = f" {capitalize(reasons)}." if reasons else ""
            sentences.append((host, f"{verdict}: {host.sentence or host.flag}{explanation}"))
    sentences.sort(key=lambda pair: (pair[0].rank, pair[0].node))
    return [Outlier(host=host.node, target=host.place, sentence=sentence) for host, sentence in sentences]


class _UsualSettings:
    def __init__(self, hosts: Sequence[HostResult]) -> None:
        self._count = len(hosts)
        values: dict[str, Counter[str]] = {}
        for host in hosts:
            for fact, value in host.facts.items():
                values.setdefault(fact, Counter())[value] += 1
        self._most_common = {fact: counted.most_common(1)[0] for fact, counted in values.items()}
        """By fact: its most common value, and the number of hosts that have this value."""
        self._hosts_with = {fact: counted.total() for fact, counted in values.items()}
        """By fact: the number of hosts that have any value."""
        self._notes = Counter(rule for host in hosts for rule in host.notes)

    def reasons(self, host: HostResult) -> list[str]:
        """Return the settings in which the host differs from the usual ones, the most likely reasons first."""
        if not self._count:
            return []
        majority = MAJORITY * self._count
        reasons = []
        for fact, (value, number) in self._most_common.items():
            if number >= majority and host.facts.get(fact, "") != value:
                reasons.append((fact, _difference(fact, host.facts.get(fact, ""), value)))
        for fact, own_value in host.facts.items():
            if self._hosts_with.get(fact, 0) <= self._count - majority:
                reasons.append((fact, _difference(fact, own_value, "")))
        reasons += [(rule, title) for rule, title in host.notes.items() if self._notes[rule] < self._count - majority]
        reasons.sort(key=lambda pair: not any(word in pair[0] for word in _FIRST_REASONS))
        return list(dict.fromkeys(text for _, text in reasons))[:MAX_REASONS]


def _difference(fact: str, value: str, peers: str) -> str:
    if fact.endswith("write cache") and value in _CACHE and peers in _CACHE:
        return f"its {fact} is {_CACHE[value]} (peers: {_CACHE[peers]})"
    return f"its {fact} is {value} (peers: {peers or 'none'})" if value else f"it has no {fact} (peers: {peers})"


def _median_rank(hosts: Iterable[HostResult]) -> int:
    ranks = sorted(host.rank for host in hosts)
    return ranks[len(ranks) // 2] if ranks else 0


def _factor_text(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 0.095 else f"{ratio:.1f}" if ratio < 99.5 else f"{ratio:.0f}"
