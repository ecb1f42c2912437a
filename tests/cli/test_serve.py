"""The app in a browser: an app of its own for each, on a simulated disk, and for nobody else's page."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("textual_serve", reason="the extra 'serve' is not installed")

from aiohttp import ClientSession, WSMsgType, WSServerHandshakeError
from aiohttp.test_utils import unused_port

from fstui.cli.serve import LOOPBACK
from tests.cli.browser import CHROMIUM, browsing


def listens(port: int) -> bool:
    """Somebody does."""
    with socket.socket() as here:
        return here.connect_ex((LOOPBACK, port)) == 0


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Where it is served; in the end it is asked to end, and leaves nothing behind."""
    port = unused_port()
    program = "from fstui.cli import main; main()"
    call = [sys.executable, "-c", program, "serve", "--simulate", "hdd-7200-lying", "--port", str(port)]
    serving = subprocess.Popen(call, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL)
    address = f"http://{LOOPBACK}:{port}"
    while serving.poll() is None and not listens(port):
        time.sleep(0.05)
    yield address
    serving.send_signal(signal.SIGTERM)
    assert serving.wait() == 0
    assert list(tmp_path.glob("fstui-class-*")) == []


async def test_a_browser_gets_the_lessons_and_a_page_of_somebody_else_nothing(url: str) -> None:
    async with ClientSession() as browser:
        assert f"{url.replace('http', 'ws', 1)}/ws" in await (await browser.get(url)).text()
        for origin in ({"Origin": "http://evil.example"}, {}):
            with pytest.raises(WSServerHandshakeError, match="403"):
                await browser.ws_connect(f"{url}/ws", headers=origin)
        async with browser.ws_connect(f"{url}/ws?width=80&height=24", headers={"Origin": url}) as app:
            said = b""
            while b"What fsync costs" not in said:
                message = await app.receive()
                assert message.type in (WSMsgType.BINARY, WSMsgType.TEXT)
                said += message.data if message.type == WSMsgType.BINARY else b""


async def test_the_page_wants_nothing_from_elsewhere(url: str) -> None:
    async with ClientSession() as browser:
        assert "https://" not in await (await browser.get(url)).text()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
async def test_keys_reach_the_app_without_a_click_and_enter_starts_it_again(url: str, tmp_path: Path) -> None:
    async with browsing(url, tmp_path / "browser") as page:
        for _ in range(2):
            await page.until("document.body.classList.contains('-first-byte')")
            await page.until("document.activeElement.className === 'xterm-helper-textarea'")
            await page.press("q")
            await page.until("document.body.classList.contains('-closed')")
            await page.until("document.activeElement.textContent === 'Restart'")
            await page.press("\r")
            await page.until("!document.body.classList.contains('-closed')")
