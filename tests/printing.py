"""Print reports as the commands do."""

from fstui.report import formats
from fstui.report.sections import Report


def printed(report: Report, format_: str = "plain", width: int | None = None) -> str:
    """The report in that format, as text."""
    document = formats.render_report(format_, report, width)
    return document if isinstance(document, str) else document.decode()
