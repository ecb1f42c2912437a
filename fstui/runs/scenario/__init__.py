"""Scenario files: TOML → Scenario → concrete steps. Every mistake is named by file, table and key.

``[settings.x]`` is what a user may change with ``--set x=…``: ``value`` (its type is x's; a list makes one step per
value), ``unit``, ``help``, and ``choices``, or ``min`` and ``max``. Choices may be words that each stand for several
keys: ``high = { sync_binlog = 1 }``. Every scenario has ``seconds``, the measured time per step.

``[[steps]]`` is a step: ``name``, ``probe``, and the keys of that kind of step (the settings struct in
``fstui.measure.kinds``). A value that is exactly ``"{x}"`` is x's, with its type; within a longer text it is written
out.
``"*" = "{x}"`` stands for all keys of the word chosen for x; a key of the table's own wins. Where x has
``absent = VALUE``, that value says nothing: the key is left out, for a word or a default to say.

``for_each = ["x", "y"]`` makes a step for each combination, x outermost; ``{*}`` in the name is what varies.
``only = { x = […] }``: the values for which this table is meant. ``[server]`` says once for all steps that measure a
database which ``kind`` of server they want, and its ``options``.
"""

from fstui.model.forms import Form, Scalar, Setting, changed, chosen, size_of
from fstui.runs.scenario.files import load, names, shipped
from fstui.runs.scenario.steps import Scenario, expand

__all__ = [
    "Form",
    "Scalar",
    "Scenario",
    "Setting",
    "changed",
    "chosen",
    "expand",
    "load",
    "names",
    "shipped",
    "size_of",
]
