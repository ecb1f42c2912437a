"""Turn the evidence of a run into findings and a verdict. Pure functions: no I/O, no clock.

``facts`` has what can be said without an opinion, each fact computed once in a ``Case``. ``rules`` has the opinions,
and their docstrings are the pages of ``fstui explain``. ``speed`` answers whether the storage is slow. A
rule never calls another rule, and nothing here imports an interface or starts a process.
"""

from fstui.judge.facts import Case
from fstui.judge.rules import explain, has_page, questions, rule_names
from fstui.judge.verdict import decisive, judge, leading

__all__ = [
    "Case",
    "decisive",
    "explain",
    "has_page",
    "judge",
    "leading",
    "questions",
    "rule_names",
]
