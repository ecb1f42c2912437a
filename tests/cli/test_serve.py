import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

pytest.importorskip("textual_serve", reason="the extra 'serve' is not installed")

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType
from aiohttp.test_utils import unused_port

from fstui.cli.serve import LOOPBACK, app_command
from fstui.state import ledger
from tests.cli.browser import CHROMIUM, browsing


@dataclass
class Served:
    """``fstui serve`` as a process of its own."""

    process: subprocess.Popen[str]
    address: str
    """As it was printed: with the token, without the slash at its end."""


@contextmanager
def serving(directory: Path) -> Iterator[Served]:
    """Start it with ``directory`` for temporary files."""
    port = unused_port()
    program = "from fstui.cli import main; main()"
    call = [sys.executable, "-c", program, "serve", "--simulate", "hdd-7200-lying", "--port", str(port)]
    environment = {**os.environ, "TMPDIR": str(directory)}
    with subprocess.Popen(call, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = process.stderr.readline()
        assert said.startswith(f"http://{LOOPBACK}:{port}/"), said
        yield Served(process, said.split(" ")[0].rstrip("/"))
        if process.poll() is None:
            process.terminate()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path) as served:
        yield served.address


async def test_only_the_printed_address_opens_the_app(url: str) -> None:
    origin, _, token = url.rpartition("/")
    assert len(token) >= 20
    async with ClientSession() as browser:
        assert f"{url.replace('http', 'ws', 1)}/ws" in await (await browser.get(f"{url}/")).text()
        for path in ("", "/ws", "/static/js/textual.js", f"/{token[:-1]}/", f"/{token[:-1]}/ws", "/download/x"):
            assert (await browser.get(f"{origin}{path}")).status == 403, path


async def test_a_browser_gets_the_lessons(url: str) -> None:
    async with ClientSession() as browser, browser.ws_connect(f"{url}/ws?width=80&height=24") as app:
        await until_lessons_are_shown(app)


async def until_lessons_are_shown(app: ClientWebSocketResponse) -> None:
    said = b""
    while b"What fsync costs" not in said:
        message = await app.receive()
        assert message.type in (WSMsgType.BINARY, WSMsgType.TEXT)
        said += message.data if message.type == WSMsgType.BINARY else b""


def test_an_app_imports_nothing_from_the_working_directory(tmp_path: Path) -> None:
    for name in ("fstui", "msgspec", "textual"):
        (tmp_path / f"{name}.py").write_text("open('trapped', 'w')")
    subprocess.run(app_command(str(tmp_path), "no-such-disk"), cwd=tmp_path, capture_output=True, check=False)
    assert not (tmp_path / "trapped").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name
)
async def test_a_signal_ends_the_apps_of_all_browsers(number: signal.Signals, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        async with ClientSession() as browser, browser.ws_connect(f"{served.address}/ws") as app:
            await until_lessons_are_shown(app)
            assert len(list(tmp_path.glob(".fstui-*/tmp*"))) == 1
            served.process.send_signal(number)
            async for _ in app:  # as a browser does, until it is closed
                pass
            status = await asyncio.to_thread(served.process.wait)
    assert status == (-number if number is signal.SIGKILL else 128 + number)
    while number is signal.SIGKILL and left_behind(tmp_path):  # until the process that holds the directory has ended
        pass
    assert left_behind(tmp_path) == []


def left_behind(directory: Path) -> list[str]:
    """Return the files, ledger entries and processes that are left of a server."""
    files = [str(path) for path in directory.glob(".fstui-*")]
    processes = [str(each.info["cmdline"]) for each in psutil.process_iter(["cmdline"])]
    return files + [entry.what for entry in ledger.entries()] + [each for each in processes if str(directory) in each]


async def test_the_page_fetches_nothing_from_the_internet(url: str) -> None:
    async with ClientSession() as browser:
        assert "https://" not in await (await browser.get(f"{url}/")).text()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
async def test_keys_reach_the_app_without_a_click(url: str, tmp_path: Path) -> None:
    async with browsing(f"{url}/", tmp_path / "browser") as page:
        for _ in range(2):
            await page.until("document.body.classList.contains('-first-byte')")
            await page.until("document.activeElement.className === 'xterm-helper-textarea'")
            await page.press("q")
            await page.until("document.body.classList.contains('-closed')")
            await page.until("document.activeElement.textContent === 'Restart'")
            await page.press("\r")
            await page.until("!document.body.classList.contains('-closed')")
