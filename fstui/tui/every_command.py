"""The commands of all screens, by the names that keys.toml knows them by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from fstui.model.errors import meant
from fstui.tui import screens
from fstui.tui.commands import GLOSSARY, INTERRUPT, PALETTE, QUIT, SUSPEND
from fstui.tui.screens.base_screen import BaseScreen


def unknown(names: Iterable[str]) -> str:
    """A sentence about the names that no command has; empty where all of them are known."""
    known = sorted(set(_names()))
    strange = [name for name in names if name not in known]
    if not strange:
        return ""
    near = meant(strange[0], known) or " The help of each screen (?) names its own."
    return f"keys.toml: no command is called {', '.join(strange)}.{near}"


def _names() -> Iterator[str]:
    for module in iter_modules(screens.__path__, f"{screens.__name__}."):
        import_module(module.name)
    yield from (command.id for command in (QUIT, INTERRUPT, SUSPEND, GLOSSARY, PALETTE))
    for screen in _below(BaseScreen):
        yield from (command.id for command in screen.KEYS)


def _below(screen: type[BaseScreen]) -> Iterator[type[BaseScreen]]:
    yield screen
    for more in screen.__subclasses__():
        yield from _below(more)
