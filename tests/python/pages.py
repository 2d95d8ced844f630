"""The interactive page for tests: its data read back, and the page in a browser."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import Browser, find_chromium


def opened_browser() -> Iterator[Browser]:
    """A browser, which is closed at the end; without Chromium the test is skipped."""
    program = find_chromium()
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    found = Browser(program)
    yield found
    found.close()


def unpacked(text: str) -> list[int]:
    """What `packed` packs."""
    found, value, delta, shift = [], 0, 0, 0
    for byte in base64.b64decode(text):
        delta |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            value += (delta >> 1) ^ -(delta & 1)
            found.append(value)
            delta = shift = 0
    return found


def data_of(html: str) -> dict[str, Any]:
    """The data that is embedded in a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found
    values: dict[str, Any] = json.loads(found[1])
    return values


def series(packed_steps: list[Any]) -> tuple[list[int], Any]:
    """The times and values of a line of the page."""
    times, values, is_whole = packed_steps
    if is_whole:
        return unpacked(times), np.array(unpacked(values), "<f4")
    return unpacked(times), np.frombuffer(base64.b64decode(values), "<f4")


class Page:
    """The page of a scenario in a browser."""

    def __init__(self, browser: Browser, file: Path) -> None:
        self.browser, self.file = browser, file
        browser.requests.clear()
        browser.complaints.clear()
        browser.dark(False)
        browser.open(file)
        self.left, self.top = self.run(
            "(r => [r.left, r.top])(document.getElementById('graph').getBoundingClientRect())"
        )

    def run(self, expression: str) -> Any:
        return self.browser.run(expression)

    def view(self) -> dict[str, float]:
        found: dict[str, float] = self.run("midflight.view()")
        return found

    def drawn(self) -> dict[str, Any]:
        found: dict[str, Any] = self.run("(midflight.draw(), midflight.drawn())")
        return found

    def point(self, run: int, kind: str, place: int) -> tuple[float, float]:
        x, y = self.run(f"midflight.point({run}, '{kind}', {place})")
        return self.left + x, self.top + y

    def under(self, x: float, y: float) -> list[float]:
        """The time and the segment at a place in the window."""
        x, y = x - self.left, y - self.top
        found: list[float] = self.run(
            f"(({{t0, t1, s0, s1}}, a) => [t0 + ({x} - a.left) / a.w * (t1 - t0),"
            f" s1 - ({y} - a.top) / a.h1 * (s1 - s0)])(midflight.view(), midflight.area)"
        )
        return found

    def hover(self, run: int, kind: str, place: int) -> list[str]:
        self.browser.mouse("Moved", *self.point(run, kind, place))
        found: list[str] = self.run("midflight.picked()")
        assert self.run("!document.getElementById('tip').hidden")
        tip = self.run("document.getElementById('tip').textContent")
        assert all(one in tip for one in found)
        return found

    def click(self, selector: str, *, shift: bool = False) -> None:
        x, y = self.run(
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
            f"(document.querySelector('{selector}').getBoundingClientRect())"
        )
        for kind in ("Pressed", "Released"):
            self.browser.mouse(kind, x, y, button="left", clickCount=1, modifiers=8 * shift)


def legend(page: Page) -> list[str]:
    """The rows of the legend."""
    rows: list[str] = page.run(
        "[...document.querySelectorAll('#marks > div')].map(row => row.textContent)"
    )
    return rows
