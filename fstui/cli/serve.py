"""``fstui serve``: the app in browsers, for a class without SSH. Each browser gets its own app on a simulated disk."""

import asyncio
import ctypes
import os
import re
import secrets
import shlex
import signal
import sys
import tempfile
from typing import Any

import click

from fstui.cli.interruption import Interruption
from fstui.cli.options import open_session, simulate_option
from fstui.cli.output import say
from fstui.model.errors import Refused

LOOPBACK = "127.0.0.1"
DEFAULT_DISK = "hdd-7200"
TOKEN_BYTES = 16
PR_SET_PDEATHSIG = 1
CLOSE_S = 5.0
"""Time for the apps to end after Ctrl-C. After that, their connections are closed and the apps are killed."""
_REMOTE_LINK = re.compile(r"<link[^>]*https://[^>]*>")
"""A link to a font on the internet, which delays the page in a classroom without internet access."""
_FOCUS_SCRIPT = """<script>
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
"""Give the keyboard focus to the terminal when the page loads, and to "Restart" after the app has ended."""


@click.command("serve")
@simulate_option
@click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on. 0.0.0.0 means all addresses.")
@click.option(
    "--port", metavar="N", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port to listen on."
)
@click.option(
    "--url",
    help="Address that browsers use, if it differs from --host and --port, for example http://class.example:8000",
)
def serve(simulate: str | None, host: str, port: int, url: str | None) -> None:
    """Serve the lessons and a simulated disk to browsers, for a class.

    fstui prints an address with a random token. Only people who know this address can open the app, and the app cannot
    reach real storage. Ctrl-C stops the server.

    Example: fstui serve --host 0.0.0.0 --url http://class.example:8000
    """
    if host in {"0.0.0.0", "::"} and url is None:
        raise Refused(f"--host {host} needs --url, the address that browsers use: --url http://NAME:{port}")
    disk = simulate or DEFAULT_DISK
    open_session(disk)  # raises Refused before the server starts if there is no such disk
    try:
        import textual_serve.server  # noqa: F401, PLC0415  an optional dependency
    except ImportError:
        raise Refused(
            f"textual-serve is not installed: {shlex.quote(sys.executable)} -m pip install 'textual-serve>=1.1,<2'"
        ) from None
    raise SystemExit(asyncio.run(_serve(disk, host, port, (url or f"http://{host}:{port}").rstrip("/"))))


async def _serve(disk: str, host: str, port: int, url: str) -> int:
    """Serve until a signal arrives. Return the exit status of the signal. Raises Refused."""
    from aiohttp import web  # noqa: PLC0415  a dependency of textual-serve

    from fstui.runs import simulation  # noqa: PLC0415

    stopped, interruption = asyncio.Event(), Interruption()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    async with simulation.private_directory() as home:
        runner = web.AppRunner(await application(app_command(home, disk), url, token), shutdown_timeout=CLOSE_S)
        await runner.setup()
        interruption.listen(stopped.set, delay_reason="a browser's app has not ended yet")
        try:
            await web.TCPSite(runner, host, port).start()
            say(f"{url}/{token}/ : lessons, and the simulated disk {disk}. Ctrl-C stops the server.")
            await stopped.wait()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise Refused(f"Cannot listen on {host}:{port}: {reason}. Choose another --port") from None
        finally:
            await runner.cleanup()
            interruption.release()
    return interruption.exit_code or 0


def app_command(home: str, disk: str) -> list[str]:
    """Return the command of the app for one browser. Unlike -m, it imports nothing from the working directory."""
    start = f"import sys; sys.path[:] = {sys.path!r}; from fstui.cli.serve import _run_app; _run_app()"
    return [sys.executable, "-P", "-c", start, home, disk]


async def application(command: list[str], url: str, token: str) -> Any:
    """Return the web application. It runs ``command`` for each browser, and serves only paths below /TOKEN/."""
    from aiohttp import web  # noqa: PLC0415
    from textual_serve.server import Server  # noqa: PLC0415

    app = await Server(f"exec {shlex.join(command)}", title="fstui", public_url=url)._make_app()
    app.on_startup.clear()  # the startup handler prints a banner
    browsers: set[asyncio.Task[Any]] = set()

    @web.middleware
    async def track_browsers(request: Any, handler: Any) -> Any:
        task = asyncio.current_task()
        if request.match_info.route.name == "websocket" and task:
            browsers.add(task)
            task.add_done_callback(browsers.discard)
        return await handler(request)

    @web.middleware
    async def adapt_page(request: Any, handler: Any) -> Any:
        page = await handler(request)
        if request.match_info.route.name == "index":
            page.text = _REMOTE_LINK.sub("", page.text).replace("</body>", f"{_FOCUS_SCRIPT}</body>")
        return page

    async def end_apps(_: Any) -> None:
        for browser in browsers:
            browser.cancel()  # its handler ends the app
        if browsers:
            await asyncio.wait(browsers, timeout=CLOSE_S)

    app.middlewares.extend((track_browsers, adapt_page))
    app.on_shutdown.append(end_apps)

    @web.middleware
    async def require_token(request: Any, handler: Any) -> Any:
        first_part = request.path.split("/")[1]
        if not secrets.compare_digest(first_part.encode(errors="replace"), token.encode()):
            raise web.HTTPForbidden(text="Use the address that fstui serve printed.")
        return await handler(request)

    outer = web.Application(middlewares=[require_token])
    outer.add_subapp(f"/{token}", app)
    return outer


def _run_app() -> None:
    """Run the app of one browser. Arguments: a directory for its state, and the simulated disk."""
    from fstui.tui.app import FstuiApp  # noqa: PLC0415
    from fstui.tui.screens.lessons import LessonsScreen  # noqa: PLC0415

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the server may be killed
    home, disk = sys.argv[1:]
    session = open_session(disk)  # before chdir, because the path of a file may be relative
    with tempfile.TemporaryDirectory(dir=home) as directory:
        # do not show or change the runs, settings and ledger of the user who started the server
        os.environ.update(XDG_STATE_HOME=directory, XDG_CONFIG_HOME=directory, HOME=directory, PWD=directory)
        os.chdir(directory)
        app = FstuiApp(
            session,
            ascii_only=False,
            push_first_screens=lambda app: app.push_screen(LessonsScreen()),
            returns_to_storage=True,
        )
        app.run(mouse=False)
