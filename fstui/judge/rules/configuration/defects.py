"""The rule that reports the defects of ``defects.toml``, each by its own public name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.configuration import FoundDefect
from fstui.model.judgement import Finding
from fstui.storage.layers.filesystems.overlay import upper_path


@rule(order=20)
def defects(case: Case) -> Iterator[Finding]:
    for found in case.configuration.defects:
        outcome, texts = found.outcome, _texts(case, found)
        unsure = outcome.low_unless_verified and not case.lowest_devices.verified
        yield Finding(
            rule=found.defect.name,
            verdict=outcome.verdict,
            confidence="low" if unsure else outcome.confidence,
            scope="storage",
            title=outcome.title.format_map(texts),
            sentence=outcome.sentence.format_map(texts),
            steps=found.hit.steps,
            because=found.hit.because,
            next=tuple(line.format_map(texts) for line in outcome.next),
        )


def _texts(case: Case, found: FoundDefect) -> dict[str, str]:
    layer, rate = found.hit.layer, case.flushes.rate
    upper = upper_path(layer)
    battery, drives = words.CHECK_CONTROLLER
    return {
        **found.outcome.missing,
        **({"test_upper": words.command(f"fstui run fsync-rate {shlex.quote(upper)}")} if upper else {}),
        **{reading.what: shlex.quote(reading.value) for reading in layer.readings},
        "id": layer.id,
        "name": layer.name,
        "label": words.named(layer),
        "pool": f"volume {layer.name}" if layer.layer == "block" else f"dataset under {layer.name}",
        "rate": f" ({rate})" if rate else "",
        "early": rate or "a sync returns before the data is safe",
        "check_battery": battery,
        "check_drives": drives,
        **found.hit.words,
    }
