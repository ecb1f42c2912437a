"""The rule that reports the defects of ``defects.toml``, each by its own public name."""

import shlex
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.configuration import FoundDefect
from fstui.storage.layers.filesystems.overlay import upper_path


@rule(order=20)
def defects(case: Case) -> Iterator[Conclusion]:
    for match in case.configuration.defects:
        outcome, texts = match.outcome, _placeholder_texts(case, match)
        is_unverified = outcome.low_unless_verified and not case.lowest_devices.verified
        yield Conclusion(
            title=outcome.title.format_map(texts),
            sentence=outcome.sentence.format_map(texts),
            verdict=outcome.verdict,
            confidence="low" if is_unverified else outcome.confidence,
            steps=match.hit.steps,
            evidence=match.hit.evidence,
            next=[line.format_map(texts) for line in outcome.next],
            rule=match.defect.name,
        )


def _placeholder_texts(case: Case, match: FoundDefect) -> dict[str, str]:
    layer, rate = match.hit.layer, case.flushes.sync_rate
    upper = upper_path(layer)
    return {
        **match.outcome.fallbacks,
        **({"test_upper": words.command(f"fstui run fsync-rate {shlex.quote(upper)}")} if upper else {}),
        **{reading.what: shlex.quote(reading.value) for reading in layer.readings},
        "id": layer.id,
        "name": layer.name,
        "label": words.label(layer),
        "dataset": f"volume {layer.name}" if layer.layer == "block" else f"dataset under {layer.name}",
        "rate": f" ({rate})" if rate else "",
        "early_return": rate or "a sync returns before the data is safe",
        "check_controller": words.CHECK_CONTROLLER,
        "until_then": words.UNTIL_THEN,
        **match.hit.replacements,
    }
