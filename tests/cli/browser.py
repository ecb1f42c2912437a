"""A headless Chromium with one page, controlled by the DevTools protocol."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
POLL_S = 0.1


class Page:
    """The page of the browser, with the actions of a user."""

    def __init__(self, devtools: ClientWebSocketResponse) -> None:
        self._devtools = devtools
        self._asked = 0

    async def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call the method and return its result. Events that arrive before the result are ignored."""
        self._asked += 1
        await self._devtools.send_json({"id": self._asked, "method": method, "params": parameters})
        while (answer := await self._devtools.receive_json()).get("id") != self._asked:
            pass
        result: dict[str, Any] = answer["result"]
        return result

    async def until(self, expression: str) -> None:
        while not await self._is(expression):  # noqa: ASYNC110  what it waits for is in another process
            await asyncio.sleep(POLL_S)

    async def _is(self, expression: str) -> bool:
        """Evaluate the expression. Between two documents, when nothing can be evaluated, return False."""
        answer = await self.call("Runtime.evaluate", expression=f"Boolean({expression})")
        return answer["result"].get("value") is True

    async def press(self, character: str) -> None:
        """Press one key; it goes to the element with the focus."""
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=character, text=character)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=character)


@asynccontextmanager
async def browsing(url: str, home: Path) -> AsyncIterator[Page]:
    assert CHROMIUM is not None
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={home}"]
    nowhere = asyncio.subprocess.DEVNULL
    browser = await asyncio.create_subprocess_exec(CHROMIUM, *words, url, stdout=nowhere, stderr=nowhere)
    try:
        port_file = home / "DevToolsActivePort"
        while not (port_file.exists() and port_file.read_text()):  # noqa: ASYNC110  another process writes it
            await asyncio.sleep(POLL_S)
        port = port_file.read_text().split()[0]
        async with ClientSession() as session:
            tabs: list[dict[str, str]] = []
            while not tabs:
                answer = await session.get(f"http://127.0.0.1:{port}/json")
                tabs = [tab for tab in await answer.json() if tab["url"].startswith(url)]
            async with session.ws_connect(tabs[0]["webSocketDebuggerUrl"], max_msg_size=0) as devtools:
                yield Page(devtools)
    finally:
        browser.terminate()
        await browser.wait()
