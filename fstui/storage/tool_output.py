"""The output of tools such as smartctl, most of which only root can run.

The tools can hang on dead hardware, so a child process runs them (``fstui.measure.helpers.tool_output``). The modules
of the layers interpret the output.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fstui.model.storage import Reading

Command = tuple[str, ...]


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a command printed, or why there is no output."""

    output: str = ""
    error: str | None = None


ToolOutputs = Mapping[str, ToolOutput]
"""Output of tools by command line, as typed in a shell. The command line is the path of readings from this output."""

NO_OUTPUTS: ToolOutputs = {}
ROOT_ONLY = frozenset({"dmsetup", "hdparm", "losetup", "nvme", "smartctl"})
_ABSENCE_MESSAGES = ("No such file or directory", "Not a directory")
"""Messages of stat(1) and realpath(1), in the C locale, if a path does not exist."""


def command_line(command: Command) -> str:
    return shlex.join(command)


def output_of(tool_outputs: ToolOutputs, command: Command) -> str | None:
    """Return what the command printed; None if it was not run or failed."""
    result = tool_outputs.get(command_line(command))
    return result.output if result is not None and result.error is None else None


def reports_absence(tool_outputs: ToolOutputs, command: Command) -> bool:
    """Return whether stat(1) or realpath(1) reported that nothing is at its path."""
    result = tool_outputs.get(command_line(command))
    return result is not None and (result.error or "").endswith(_ABSENCE_MESSAGES)


def missing_reading(what: str, commands: Sequence[Command], tool_outputs: ToolOutputs) -> Reading:
    """Return the reading ``missing``, which names what could not be read, and why."""
    lines = [command_line(command) for command in commands]
    # if no command was run, the reading names the last one
    not_run = "root only, or not read yet" if commands[-1][0] in ROOT_ONLY else "not read yet"
    errors = [(line, tool_outputs[line].error or "does not report it") for line in lines if line in tool_outputs]
    # the message of an installed tool is more useful than the absence of another
    errors.sort(key=lambda pair: pair[1].endswith("is not installed"))
    line, reason = errors[0] if errors else (lines[-1], not_run)
    return Reading(what="missing", value=f"{what}: {reason}", path=line)


def decode(line: Any) -> ToolOutputs:
    """Return the output in a decoded line from the child, by command line; empty if the line has another form."""
    try:
        return {str(line["command"]): msgspec.convert(line, ToolOutput)}
    except (TypeError, KeyError, msgspec.ValidationError):
        return {}
