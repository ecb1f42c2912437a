"""What a shell offers for each kind of argument. Asked at every Tab: nothing is imported, or read, before."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from fstui.model.errors import Refused

Answer = TypeVar("Answer")


def scenarios(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shipped ones and the user's own."""
    from fstui.runs import scenarios as known  # noqa: PLC0415

    own, _ = _answer(known.own())
    return _beginning(incomplete, ((name, one.title) for name, one in (*known.shipped_ones(), *own)))


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``KEY=`` of the scenario that stands before it, and after that its values."""
    from fstui.runs import scenarios as known  # noqa: PLC0415

    # behind a --set that has no value yet click has not told the arguments apart
    called = ctx.params.get("scenario") or next(iter(ctx.args), "")
    try:
        form = _answer(known.named(called)).settings
    except Refused:
        return []
    key, equals, _ = incomplete.partition("=")
    if not equals:
        return _beginning(incomplete, ((f"{name}=", setting.help) for name, setting in form.items()))
    choices = form[key].choices if key in form else ()
    return _beginning(incomplete, ((f"{key}={choice}", "") for choice in choices or ()))


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of saved runs, newest first; nothing from a home that does not answer."""
    from fstui.runs import history  # noqa: PLC0415

    try:
        found = [one for one in _answer(history.listed()) if one.id]
    except (OSError, Refused):
        return []
    told = [(one.id, f"{one.verdict}, {one.scenario} on {one.target}") for one in found]
    return _beginning(incomplete, [*told, ("last", "the newest")])


def pages_and_words(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a name that ``fstui explain`` knows."""
    from fstui.report import explanation  # noqa: PLC0415
    from fstui.report import glossary as words  # noqa: PLC0415
    from fstui.runs import rules  # noqa: PLC0415

    names = (*rules.rule_names(), *explanation.documentation(), *words.words())
    return _beginning(incomplete, ((name, "") for name in names))


def directories(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The shell knows them."""
    return [CompletionItem(incomplete, type="dir")]


def _beginning(incomplete: str, known: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    return [CompletionItem(name, help=help_ or None) for name, help_ in known if name.startswith(incomplete)]


def _answer(question: Coroutine[Any, Any, Answer]) -> Answer:
    import asyncio  # noqa: PLC0415  the help comes without

    return asyncio.run(question)
