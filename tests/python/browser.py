"""Chromium without a window, driven over a pair of pipes by the DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0


def find_chromium() -> str | None:
    """Where Chromium is; None if it is not installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page in a browser that has no network."""

    def __init__(self, program: str, width: int = 1200, height: int = 730) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The protocol speaks on descriptors 3 and 4 of the browser.
        high = [fcntl.fcntl(one, fcntl.F_DUPFD, 100) for one in (to_read, to_write)]
        for one in (to_read, to_write):
            os.close(one)

        def arrange() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-pipe",
                f"--window-size={width},{height}",
                f"--user-data-dir={self._folder.name}",
                "about:blank",
            ],
            preexec_fn=arrange,
            pass_fds=(3, 4),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for one in high:
            os.close(one)
        self._number = 0
        self._rest = b""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        """Give the window this size, in pixels."""
        size = {"width": width, "height": height}
        self.ask("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)

    def close(self) -> None:
        """End the browser and its child processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return the answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while True:
            answer = self._next(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found
            self._note(answer)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._read], [], [], max(0.0, left))
            if not ready:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(text)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:2000])
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"])

    def open(self, file: Path) -> None:
        """Open a file and wait for its script."""
        self.ask("Page.navigate", url=file.resolve().as_uri())
        until = time.monotonic() + PATIENCE_S
        while self.run("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() > until:
                raise TimeoutError(f"{file} does not load")
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Do something with the mouse at a place in the window."""
        self.ask("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def drag(self, x0: float, y0: float, x1: float, y1: float, *, shift: bool = False) -> None:
        """Drag from one place to another."""
        held = {"modifiers": 8 if shift else 0}
        self.mouse("Moved", x0, y0, **held)
        self.mouse("Pressed", x0, y0, button="left", buttons=1, clickCount=1, **held)
        for part in (0.5, 1.0):
            x, y = x0 + part * (x1 - x0), y0 + part * (y1 - y0)
            self.mouse("Moved", x, y, button="left", buttons=1, **held)
        self.mouse("Released", x1, y1, button="left", clickCount=1, **held)

    def touch(self, kind: str, *points: tuple[float, float], first: int = 0) -> None:
        """Put fingers on the screen (Start), move them (Move), or take these or all off (End).

        They are numbered from `first` on.
        """
        places = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points, first)]
        self.ask("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=places)
        # The page receives movements when it is drawn next.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def dark(self, on: bool) -> None:
        """Prefer dark colours, or light ones."""
        value = "dark" if on else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def picture(self) -> bytes:
        """Return a screenshot, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
