"""The second answer in every format."""

import csv
import io
import json

from msgspec.structs import replace

from fstui.model.judgement import Speed
from fstui.report import compare, formats, history
from fstui.state.runs import Summary
from tests.factories.samples import NASTY, RUN
from tests.printing import printed, printed_run

SLOW = Speed(
    answer="slow",
    yardstick="5 earlier runs",
    title="12.0/s, slower than 5 earlier runs: an I/O limit of its cgroup applies",
    sentence="fdatasync did 12.0/s in 1.0 s.",
    because=("fdatasync: 12.0/s; their median is 840/s",),
    next=("Raise the limit, or run outside its cgroup.",),
)
SLOW_RUN = replace(RUN, speed=SLOW)


def rendered(name: str) -> str:
    text = formats.render(name, SLOW_RUN)
    return text.decode() if isinstance(text, bytes) else text


def test_plain_has_both_headlines_then_their_reasons() -> None:
    lines = printed_run(SLOW_RUN).splitlines()
    at = lines.index("! SUSPICIOUS  high confidence")
    assert lines[at + 1] == "  ! SLOW  12.0/s, slower than 5 earlier runs: an I/O limit of its cgroup applies"
    second = lines.index("Is it slow?")
    assert lines[second + 1 : second + 4] == [
        "  fdatasync did 12.0/s in 1.0 s.",
        "  because  fdatasync  12.0/s; their median is 840/s",
        "  next     Raise the limit, or run outside its cgroup.",
    ]
    assert max(map(len, lines)) <= 80


def test_every_format_shows_the_speed() -> None:
    assert "- ! SLOW" in rendered("markdown") and "**Is it slow?**" in rendered("markdown")
    assert {row["speed"] for row in csv.DictReader(io.StringIO(rendered("csv")))} == {"slow"}
    assert json.loads(rendered("json"))["speed"]["answer"] == "slow"
    assert 'speed="slow"} 1.0' in rendered("prometheus")
    assert 'speed="normal"} 0.0' in rendered("prometheus")


def test_an_older_document_shows_no_speed() -> None:
    assert "slow?" not in printed_run(RUN).lower()
    assert "fstui_speed" not in str(formats.render("prometheus", RUN))
    assert not any(line.startswith("speed") for line in printed(compare.of_runs([RUN, RUN])).splitlines())


def test_a_comparison_and_the_history_show_the_speed() -> None:
    assert any(
        line.split() == ["speed", "!", "slow"] for line in printed(compare.of_runs([RUN, SLOW_RUN])).splitlines()
    )
    line = Summary(path="/x", id="k3f9a1", started_at="2026-11-20T03:12:44+01:00", verdict="consistent")
    _, first, second = printed(history.of_summaries([replace(line, speed="stalls"), line])).splitlines()
    assert first.endswith("▲ stalls") and second.endswith("–")


def test_names_in_the_speed_are_escaped() -> None:
    nasty = replace(SLOW, title=NASTY, sentence=NASTY, because=(f"{NASTY}: {NASTY}",), next=(NASTY,))
    text = printed_run(replace(RUN, speed=nasty))
    assert all(character.isprintable() or character == "\n" for character in text)
