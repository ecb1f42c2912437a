"""Rules from evidence to findings, and what the findings come to. Pure functions: no I/O, no clock.

A new rule is one function, named like its public name, in the file of its kind, an entry in ``RULES`` and a page in
``pages``.
"""

from fstui.judge.explanation import explain, paragraphs, rule_names
from fstui.judge.verdict import RULES, Rule, decisive, judge

__all__ = ["RULES", "Rule", "decisive", "explain", "judge", "paragraphs", "rule_names"]
