"""What the user has chosen: settings as they go to the planner, what is declared, and how a key changes them."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec.structs import replace

from fstui.model.declaration import NOTHING, Declaration
from fstui.model.quantities import size
from fstui.model.storage import CACHES, MEDIA
from fstui.runs.scenarios import Form, Scalar, Setting

Word = TypeVar("Word", bound=str)

MEDIUM, WRITE_CACHE = "medium", "write cache"
_STEPS = (1, 2, 5)


class Choices(msgspec.Struct, frozen=True):
    """Only what differs from the usual values; a declaration holds for the storage, whatever is run on it."""

    settings: dict[str, dict[str, str]] = {}
    """By the name of the scenario."""
    declaration: Declaration = NOTHING

    def of(self, form: Form) -> dict[str, str]:
        """The settings of that scenario, or of the power-cut check."""
        return self.settings.get(form.name, {})


def rows(form: Form) -> list[str]:
    """The names of what can be changed, as the screen lists them."""
    return [*form.settings, MEDIUM, WRITE_CACHE]


def meaning(form: Form, name: str) -> str:
    """What changing it changes."""
    return form.settings[name].help if name in form.settings else "What this box cannot read, declared by you."


def options(setting: Setting) -> list[Scalar]:
    """The values allowed; empty where any number between min and max is."""
    return list(setting.choices) if setting.choices else []


def values(setting: Setting, text: str | None) -> list[str]:
    """The chosen values as text; several for a matrix."""
    if text is not None:
        return [part.strip() for part in text.split(",")]
    value = setting.value if isinstance(setting.value, list) else [setting.value]
    return [as_text(item) for item in value]


def as_text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def shown(setting: Setting, text: str) -> str:
    """As a person reads it: bytes in KiB."""
    return size(int(text)) if setting.unit == "bytes" and text.isdigit() else text


def changed(form: Form, choices: Choices, name: str, by: int) -> Choices:
    """The next value, or the one before; the same where there are several, which only typing changes."""
    if name == MEDIUM:
        return _declaring(choices, medium=_next(choices.declaration.medium, MEDIA, by))
    if name == WRITE_CACHE:
        return _declaring(choices, write_cache=_next(choices.declaration.write_cache, CACHES, by))
    setting = form.settings[name]
    now = values(setting, choices.of(form).get(name))
    if len(now) > 1:  # which of them would give way?
        return choices
    allowed = [as_text(value) for value in options(setting)]
    if allowed:
        at = allowed.index(now[0]) if now[0] in allowed else 0
        return _with(form, choices, name, allowed[max(0, min(at + by, len(allowed) - 1))])
    return _with(form, choices, name, _stepped(setting, now[0], by))


def several(form: Form, choices: Choices, name: str) -> bool:
    """More than one value was typed, or stands in the scenario, where there are no boxes for them."""
    return name in form.settings and len(values(form.settings[name], choices.of(form).get(name))) > 1


def toggled(form: Form, choices: Choices, name: str, option: str) -> Choices:
    """The value in or out of a matrix; the last one stays."""
    setting = form.settings[name]
    now = values(setting, choices.of(form).get(name))
    kept = [as_text(v) for v in options(setting) if (as_text(v) in now) != (as_text(v) == option)]
    return _with(form, choices, name, ",".join(kept)) if kept else choices


def typed(form: Form, choices: Choices, name: str, text: str) -> Choices:
    """The value as it was typed; the planner refuses what cannot be."""
    return _with(form, choices, name, text.strip()) if text.strip() else choices


def _with(form: Form, choices: Choices, name: str, text: str) -> Choices:
    settings = {key: value for key, value in choices.of(form).items() if key != name}
    if text != ",".join(values(form.settings[name], None)):
        settings[name] = text
    return replace(choices, settings={**choices.settings, form.name: settings})


def _declaring(choices: Choices, **said: object) -> Choices:
    return replace(choices, declaration=replace(choices.declaration, remembered=False, **said))


def _next(now: Word | None, known: tuple[Word, ...], by: int) -> Word | None:
    allowed = (None, *known)
    return allowed[(allowed.index(now) + by) % len(allowed)]


def _stepped(setting: Setting, text: str, by: int) -> str:
    """1, 2, 5, 10, 20 … within the bounds; powers of two for bytes."""
    now = float(text)
    if setting.unit == "bytes":
        new = now * 2 if by > 0 else now / 2
    else:
        ladder = [step * 10.0**power for power in range(-2, 7) for step in _STEPS]
        beyond = [value for value in ladder if (value > now * 1.001 if by > 0 else value < now * 0.999)]
        new = (min(beyond) if by > 0 else max(beyond)) if beyond else now
    new = max(
        setting.min if setting.min is not None else new, min(new, setting.max if setting.max is not None else new)
    )
    return f"{new:g}" if setting.unit != "bytes" else str(int(new))
