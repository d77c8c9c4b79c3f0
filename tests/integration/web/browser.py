"""Chromium without a window, controlled by its DevTools protocol."""

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

__all__ = ["Browser", "chromium"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_KEYS: Final = {
    "Enter": ("Enter", 13, "\r"),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "Tab": ("Tab", 9, ""),
}


def chromium() -> str | None:
    """Return the program; None: it is not installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class _Navigated(Exception):
    """The browser has left the page on which an expression was evaluated."""


class Browser:
    """One page. `errors` has what its console reported as errors, `requests` the addresses that it has asked for."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-browser-", ignore_cleanup_errors=True)
        self._runner = asyncio.Runner()
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._program = program

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [
                self._program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--force-color-profile=srgb",
                "--remote-debugging-port=0",
                f"--user-data-dir={self._folder.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._runner.run(self._connect())
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._disconnect())
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._runner.close()
        self._folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        return self._runner.run(self._sent(method, parameters))

    def open(self, address: str) -> None:
        """Open an address, and wait until its script has run."""
        self.send("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && document.documentElement.classList.contains('script')")

    def leave(self) -> None:
        """Leave the page."""
        self.send("Page.navigate", url="about:blank")

    def __call__(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, which may be a promise."""
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description", answer))
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = 60.0) -> Any:
        """Wait until an expression is true, on the next page if the browser leaves this one."""
        waiting = (
            f"new Promise((done, fail) => {{ const end = Date.now() + {seconds * 1000};"
            f" const look = () => {{ let found; try {{ found = ({expression}); }} catch {{ found = null; }}"
            f" if (found) done(found); else if (Date.now() > end) fail(new Error({json.dumps('never: ' + expression)}));"
            f" else setTimeout(look, 50); }}; look(); }})"
        )
        while True:
            with suppress(_Navigated):
                return self(waiting)

    def press(self, key: str) -> None:
        """Press a key."""
        name, code, text = _KEYS.get(key, (key, ord(key[0].upper()), key))
        common = {"key": name, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Write into the field that has the focus."""
        self.send("Input.insertText", text=text)

    def look(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Set the size of the window, and the theme."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[theme])

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page."""
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))

    async def _connect(self) -> None:
        port = Path(self._folder.name) / "DevToolsActivePort"
        async with asyncio.timeout(60):
            while not (port.exists() and len(port.read_text().splitlines()) > 1):
                await asyncio.sleep(0.05)
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port.read_text().splitlines()[0]}/json") as answer:
            address = next(t for t in await answer.json() if t["type"] == "page")["webSocketDebuggerUrl"]
        self._socket = await self._session.ws_connect(address, max_msg_size=0)

    async def _disconnect(self) -> None:
        await self._socket.close()
        await self._session.close()

    async def _sent(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(90):
            while True:
                message = await self._socket.receive_json()
                if message.get("id") == number:
                    if "error" in message:
                        if "navigated" in message["error"]["message"]:
                            raise _Navigated
                        raise AssertionError(f"{method}: {message['error']}")
                    return dict(message["result"])
                self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(message["params"]["exceptionDetails"]["exception"].get("description", "exception"))
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.errors.append(f"{message['params']['entry']['text']} {message['params']['entry'].get('url', '')}")
            case _:
                pass
