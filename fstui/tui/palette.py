"""The commands of the screen in front, for Textual's palette (Ctrl-P)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.command import DiscoveryHit, Hit, Hits, Provider

from fstui.tui.commands import Command, key_name


class CommandEntries(Provider):
    """One entry per command that the footer names."""

    @property
    def _entries(self) -> Iterable[tuple[str, Command, Callable[[], object]]]:
        for command in getattr(self.screen, "KEYS", ()):
            if command.label:
                yield f"{command.label} ({key_name(command, {})})", command, self._runner(command)

    def _runner(self, command: Command) -> Callable[[], object]:
        async def run() -> None:
            await self.app.run_action(command.action, default_namespace=self.screen)

        return run

    async def discover(self) -> Hits:
        for name, command, run in self._entries:
            yield DiscoveryHit(name, run, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, command, run in self._entries:
            if (score := matcher.match(f"{name} {command.help}")) > 0:
                yield Hit(score, matcher.highlight(name), run, help=command.help)
