"""``fstui serve``: the app in browsers, for a class without SSH. Each browser gets an app of its own."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
import tempfile
from typing import Any

import click

from fstui.cli.output import say
from fstui.cli.simulating import session_on, simulate_option
from fstui.model.errors import Refused

LOOPBACK = "127.0.0.1"
USUAL_DISK = "hdd-7200"
_AFAR = re.compile(r"<link[^>]*https://[^>]*>")
"""A class may have no network: what its page wants from elsewhere holds up the rest."""
_KEYS = """<script>
  const takeKeys = () => {
    const ended = document.body.classList.contains("-closed");
    document.querySelector(ended ? ".closed-dialog button" : ".xterm-helper-textarea")?.focus();
  };
  addEventListener("load", () => {
    new MutationObserver(takeKeys).observe(document.body, { attributes: true, childList: true, subtree: true });
    addEventListener("focus", takeKeys);
    takeKeys();
  });
</script>"""
"""Without a click: to the terminal as soon as it is there, and to "Restart" once the app has ended."""
NOT_INSTALLED = "the app is served by textual-serve, which is not installed: pip install 'fstui[serve]'"


@click.command("serve")
@simulate_option
@click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on; 0.0.0.0: everybody's.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@click.option("--url", help="What the browsers call it, where that is another: http://class.example:8000")
@click.option("--this-box", is_flag=True, help="Not simulated disks but this box: whoever reaches it may write here.")
def command(simulate: str | None, host: str, port: int, url: str | None, this_box: bool) -> None:
    """Serve the app to browsers: the lessons, and a simulated disk behind them.

    Nobody is asked for a password. Ctrl-C ends it.
    """
    if this_box and simulate:
        raise Refused("--this-box and --simulate: one of the two")
    if host in {"0.0.0.0", "::"} and url is None:
        raise Refused(f"--host {host} wants --url, what the browsers call this box: --url http://NAME:{port}")
    if this_box and host != LOOPBACK:
        say(f"fstui: whoever reaches {host}:{port} may start runs on this box, as the user that you are")
    disk = None if this_box else simulate or USUAL_DISK
    if disk is not None:
        session_on(disk)  # a mistake in its name is said now
    try:
        import textual_serve.server  # noqa: F401, PLC0415  an extra
    except ImportError:
        raise Refused(NOT_INSTALLED) from None
    with tempfile.TemporaryDirectory(prefix="fstui-class-") as home:
        _serve(disk, host, port, url or f"http://{host}:{port}", home)


def _serve(disk: str | None, host: str, port: int, url: str, home: str) -> None:
    from aiohttp import web  # noqa: PLC0415  with textual-serve

    say(f"{url}: {'this box' if disk is None else f'lessons, and the simulated disk {disk}'}. Ctrl-C ends it.")
    try:
        web.run_app(asyncio.run(application(disk, host, port, url, home)), host=host, port=port, print=None)
    except OSError as error:
        raise Refused(f"{host}:{port}: {error.strerror}") from None


async def application(disk: str | None, host: str, port: int, url: str, home: str) -> Any:
    """What aiohttp serves. A page of somebody else's, open in the same browser, must not reach it: a WebSocket may be
    opened across sites, and says where it comes from (RFC 6455, 10.2). The page takes keys at once, and nothing from
    elsewhere."""
    from aiohttp import web  # noqa: PLC0415
    from textual_serve.server import Server  # noqa: PLC0415

    started = [sys.executable, "-m", "fstui.cli.served", *([] if disk is None else [home, disk])]
    served = await Server(shlex.join(started), host, port, title="fstui", public_url=url)._make_app()
    served.on_startup.clear()  # its banner

    async def from_our_page(request: Any, handler: Any) -> Any:
        if request.path == "/ws" and request.headers.get("Origin") != url:
            raise web.HTTPForbidden(text=f"only the page of {url} may open this")
        answer = await handler(request)
        if request.path == "/":
            answer.text = _AFAR.sub("", answer.text).replace("</body>", f"{_KEYS}</body>")
        return answer

    served.middlewares.append(web.middleware(from_our_page))
    return served
