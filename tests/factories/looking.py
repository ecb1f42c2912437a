"""Survey a made-up host, and look up parts of the result."""

from fstui.model.host import Inventory
from fstui.model.storage import Medium, Node, Target
from fstui.storage.survey import survey
from fstui.storage.tool_output import NO_OUTPUTS, ToolOutput, ToolOutputs
from tests.factories.box import Box


def target(inventory: Inventory, mount_point: str) -> Target:
    return next(target for target in inventory.filesystems if target.mount_point == mount_point)


def look(box: Box, mount_point: str = "/srv", tool_outputs: ToolOutputs = NO_OUTPUTS) -> Target:
    return target(survey(box.root, tool_outputs), mount_point)


def with_table(box: Box, table: str, mount_point: str = "/srv") -> Target:
    """Return the target if dmsetup prints this table."""
    return look(box, mount_point, {"dmsetup table": ToolOutput(output=table)})


def only_device(box: Box, tool_outputs: ToolOutputs = NO_OUTPUTS) -> Node:
    (node,) = survey(box.root, tool_outputs).unused
    return node


def only_medium(box: Box) -> Medium:
    medium = only_device(box).medium
    assert medium is not None
    return medium


def edges(found: Target) -> dict[str, tuple[str, ...]]:
    return {node.id: node.below for node in found.stack}


def read(node: Node, what: str) -> tuple[str, str]:
    reading = node.reading(what)
    assert reading is not None, f"{node.id} has no {what}"
    return reading.value, reading.path


def trouble(node: Node) -> list[tuple[str, str]]:
    return [(reading.what, reading.value) for reading in node.state]


def roles(found: Target) -> dict[str, str]:
    """Return the role of each layer for the layer above, by id."""
    return {name: role for node in found.stack for name, role in node.below_roles.items()}
