"""Turn the evidence of a run into findings and a verdict. Pure functions: no I/O, no clock.

``facts`` computes facts from the evidence, each once per ``Case``. ``rules`` draws conclusions from the facts; the
docstrings of the rules are the pages of ``fstui explain``. ``speed`` answers whether the storage is slow. A rule never
calls another rule, and nothing here imports an interface or starts a process.

To follow a flush from the sync to the verdict, read in this order:

1. expected: ``fstui.storage.layers.flushes``, what a filesystem sends for one sync
2. counted: ``facts.composition``, what the counters below a filesystem show; ``facts.traced``, what the trace shows
3. compared: ``facts.flushes`` creates a ``FlushAccount`` for each step at each level (``facts.account``)
4. judged: ``facts.run_flushes`` combines the accounts of all steps, ``rules.arrival`` draws the conclusions, and
   ``verdict`` picks the one that decides
"""

from fstui.judge.facts import Case
from fstui.judge.rules import explain, has_page, questions, rule_names
from fstui.judge.verdict import judge, leading_finding

__all__ = ["Case", "explain", "has_page", "judge", "leading_finding", "questions", "rule_names"]
