"""The state of the plan screen: what can be run in a directory, and the settings that were chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from fstui.model.declaration import NO_DECLARATION, Declaration
from fstui.model.errors import Refused
from fstui.model.forms import Form, Scalar, Setting, chosen_values
from fstui.model.plan import Plan
from fstui.model.storage import CACHES, MEDIA
from fstui.powercut.plan import PowerCutPlan, write_command
from fstui.runs import power_cut
from fstui.runs.runner import RunInProgress
from fstui.runs.scenarios import Scenario
from fstui.runs.session import Session
from fstui.runs.site import Site

MEDIUM, WRITE_CACHE = "medium", "write cache"
_DECADE = (1, 2, 5)


class Choices(msgspec.Struct, frozen=True):
    """Settings that differ from their defaults, by scenario, and what the user declares about the storage."""

    settings: dict[str, dict[str, str]] = {}
    declaration: Declaration = NO_DECLARATION

    def settings_of(self, form: Form) -> dict[str, str]:
        return self.settings.get(form.name, {})

    def values(self, form: Form, name: str) -> list[str]:
        """Return the values of a setting as text: one, or several of a matrix."""
        return _values(form.settings[name], self.settings_of(form).get(name))

    def with_neighbour(self, form: Form, name: str, offset: int) -> Choices:
        """Choose the next value (1) or the previous one (-1). Do nothing if several values are chosen."""
        if name == MEDIUM:
            return self._with_declaration("medium", MEDIA, offset)
        if name == WRITE_CACHE:
            return self._with_declaration("write_cache", CACHES, offset)
        setting, texts = form.settings[name], self.values(form, name)
        if len(texts) > 1:
            return self
        if allowed := options(setting):
            index = allowed.index(texts[0]) if texts[0] in allowed else 0
            return self.set(form, name, allowed[max(0, min(index + offset, len(allowed) - 1))])
        try:
            value = chosen_values(form, {name: texts[0]})[name]
        except Refused:  # the user typed an invalid value
            return self.set(form, name, *_values(setting, None))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return self.set(form, name, _neighbour(setting, value, offset)) if is_number else self

    def with_toggled_option(self, form: Form, name: str, option: str) -> Choices:
        """Add a value to a matrix or remove it. The last value cannot be removed."""
        texts = self.values(form, name)
        remaining = [value for value in options(form.settings[name]) if (value in texts) != (value == option)]
        return self.set(form, name, ",".join(remaining)) if remaining else self

    def set(self, form: Form, name: str, text: str) -> Choices:
        """Set a value to the typed text; the planner rejects an invalid value. An empty text changes nothing."""
        if not text:
            return self
        settings = {key: value for key, value in self.settings_of(form).items() if key != name}
        if text != ",".join(_values(form.settings[name], None)):
            settings[name] = text
        return replace(self, settings={**self.settings, form.name: settings})

    def _with_declaration(self, field: str, values: tuple[str, ...], offset: int) -> Choices:
        allowed = (None, *values)
        value = allowed[(allowed.index(getattr(self.declaration, field)) + offset) % len(allowed)]
        return replace(self, declaration=replace(self.declaration, remembered=False, **{field: value}))


def row_names(form: Form) -> list[str]:
    """Return the names of everything that can be changed, in the order of the screen."""
    return [*form.settings, MEDIUM, WRITE_CACHE]


def meaning(form: Form, name: str) -> str:
    return (
        form.settings[name].help
        if name in form.settings
        else "Declare this if fstui cannot read it, or reads it wrong."
    )


def options(setting: Setting) -> list[str]:
    """Return the allowed values as text. The list is empty if the setting takes any number between its bounds."""
    return [_text(value) for value in setting.choices or ()]


def is_matrix(setting: Setting | None) -> bool:
    """Return whether several of the allowed values can be chosen at once."""
    return bool(setting and setting.choices and isinstance(setting.value, list))


def _values(setting: Setting, text: str | None) -> list[str]:
    if text is not None:
        return [part.strip() for part in text.split(",")]
    return [_text(value) for value in (setting.value if isinstance(setting.value, list) else [setting.value])]


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _neighbour(setting: Setting, value: float, offset: int) -> str:
    """Return the next of 1, 2, 5, 10, 20 … within the bounds; for bytes, the next power of two."""
    if setting.unit == "bytes":
        next_value = value * 2 if offset > 0 else value / 2
    else:
        candidates = [step * 10.0**power for power in range(-2, 7) for step in _DECADE]
        higher = (candidate for candidate in candidates if candidate > value * 1.001)
        lower = (candidate for candidate in candidates if candidate < value * 0.999)
        next_value = min(higher, default=value) if offset > 0 else max(lower, default=value)
    next_value = next_value if setting.max is None else min(next_value, setting.max)
    next_value = next_value if setting.min is None else max(next_value, setting.min)
    return str(int(next_value)) if setting.unit == "bytes" else f"{next_value:g}"


class Offer(msgspec.Struct, frozen=True):
    """A scenario or the power-cut check, with its plan in this directory or the reason why it cannot be run."""

    name: str
    form: Form
    plan: Plan | PowerCutPlan | None = None
    command: str = ""
    refusal: str = ""


class Offers:
    """The scenarios and the power-cut check, each with its plan once the plan is made."""

    def __init__(self, session: Session, directory: str, alternatives: Sequence[str] = ()) -> None:
        """``alternatives``: directories on the same mount, to be tried if this one is refused."""
        self.directory = directory
        self.site: Site | None = None
        self.all: list[Offer] = []
        self.choices = Choices()
        self._session = session
        self._alternatives = list(alternatives)
        self._refusal = ""
        self._being_planned: set[int] = set()
        self._undo_stack: list[Choices] = []
        self._saved_declarations: list[tuple[Declaration, Declaration]] = []
        """For each run that changed the remembered declaration: the new declaration and the earlier one."""

    def add(self, forms: Iterable[tuple[str, Form]]) -> None:
        self.all += [Offer(name, form) for name, form in forms]

    def index_of(self, name: str) -> int:
        """Return the index of a scenario, or 0 if there is none of that name."""
        return next((index for index, offer in enumerate(self.all) if offer.name == name), 0)

    async def look_up(self) -> str:
        """Inspect the directory. If it is refused, use the first alternative that is not, and return a notice."""
        requested = self.directory
        self.site, self._refusal = await self._try_directory(requested)
        reason = self._refusal
        while self.site is None and self._alternatives:
            self.directory = self._alternatives.pop(0)
            self.site, _ = await self._try_directory(self.directory)
        if self.site is None:
            self.directory = requested
            return ""
        self._use_remembered(self.site.declaration)
        if self.directory == requested:
            return ""
        return f"Using {self.directory}, on the same mount: {reason}"

    def unplanned_indexes(self) -> list[int]:
        """Return the indexes of the offers that need a plan. The list is empty until the directory is inspected."""
        if not (self.site or self._refusal):
            return []
        unplanned = (index for index, offer in enumerate(self.all) if not offer.plan and not offer.refusal)
        return [index for index in unplanned if index not in self._being_planned]

    async def plan(self, index: int) -> bool:
        """Plan an offer. Return False if the choices changed during planning."""
        offer = self.all[index]
        self._being_planned.add(index)
        try:
            planned = await self._with_plan(offer)
        finally:
            self._being_planned.discard(index)
        if offer is not self.all[index]:
            return False
        self.all[index] = planned
        return True

    def choose(self, choices: Choices) -> None:
        """Change the choices so that undo can restore them. Plans made for other choices are dropped."""
        self._undo_stack.append(self.choices)
        self.choices = choices
        self._forget_plans()

    @property
    def can_undo(self) -> bool:
        return bool(self._undo_stack)

    def undo(self) -> Declaration | None:
        """Undo the last choice. If a run saved its declaration, return the earlier one, to be saved again."""
        if not self._undo_stack:
            return None
        undone, self.choices = self.choices.declaration, self._undo_stack.pop()
        self._forget_plans()
        if not self._saved_declarations:
            return None
        saved, earlier = self._saved_declarations[-1]
        if undone.text != saved.text or saved.text == self.choices.declaration.text:
            return None
        self._saved_declarations.pop()
        return earlier

    def declared_site(self, site: Site) -> Site:
        return site.with_declaration(self.choices.declaration)

    def start(self, offer: Offer, site: Site) -> tuple[RunInProgress, Declaration | None]:
        """Start a run. Return the run, and the declaration to be saved if it has changed.

        A declaration is saved only when a run uses it, so that an accidental key press does not affect later verdicts.
        """
        assert isinstance(offer.plan, Plan), "only a scenario is run"
        declaration, remembered = self.choices.declaration, self._session.saved_declaration(site)
        changed = declaration if declaration.text != remembered.text else None
        if changed is not None:
            self._saved_declarations.append((declaration, remembered))
        return self._session.start(offer.plan, self.declared_site(site)), changed

    async def _try_directory(self, directory: str) -> tuple[Site | None, str]:
        try:
            site = await self._session.look_up(directory)
            site.check_writable()
        except Refused as refusal:
            return None, str(refusal)
        return site, ""

    def _use_remembered(self, remembered: Declaration) -> None:
        """Add the remembered declaration to all choices without a declaration, including those for undo."""
        all_choices = (*self._undo_stack, self.choices)
        *self._undo_stack, self.choices = (
            choices if choices.declaration else replace(choices, declaration=remembered) for choices in all_choices
        )

    async def _with_plan(self, offer: Offer) -> Offer:
        if self.site is None:
            return replace(offer, refusal=self._refusal)
        site, settings = self.declared_site(self.site), self.choices.settings_of(offer.form)
        try:
            if not isinstance(offer.form, Scenario):
                command = write_command(site.raw_target.path, settings)
                return replace(offer, plan=power_cut.plan(site, settings), command=command)
            plan = await self._session.plan(offer.form, site, settings, typed_name=offer.name)
        except Refused as refusal:
            return replace(offer, refusal=str(refusal))
        return replace(offer, plan=plan, command=plan.command)

    def _forget_plans(self) -> None:
        self.all = [Offer(offer.name, offer.form) for offer in self.all]
