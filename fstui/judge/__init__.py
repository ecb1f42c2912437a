"""From evidence to findings, and what the findings come to. Pure functions: no I/O, no clock.

``facts`` holds the case: the evidence, and every fact worked out once. ``rules`` are opinions about it, one file each.
"""

from fstui.judge.explanation import explain, questions, rule_names
from fstui.judge.facts import Case
from fstui.judge.verdict import decisive, judge, order_of_findings

__all__ = ["Case", "decisive", "explain", "judge", "order_of_findings", "questions", "rule_names"]
