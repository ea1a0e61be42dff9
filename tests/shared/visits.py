"""Visits of a page in a real browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@contextmanager
def launch_browser() -> Iterator[Any]:
    """Debian's chromium, without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs chromium: no {CHROMIUM}")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield launched
        launched.close()


class Visit:
    """An open page, what it asked for and what it complained of."""

    def __init__(self, browser: Any, report: Path, fragment: str = "", **options: Any) -> None:
        self.address = report.as_uri() + fragment
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, **options}
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.address)

    def count(self) -> int:
        """How many questions the table says that it has found."""
        info = self.page.locator(".dt-info").inner_text()
        found = re.search(r"of ([\d,]+)", info)
        return int(found[1].replace(",", "")) if found else 0

    def expect_count(self, count: int) -> None:
        """Wait until the table has found so many: a search starts a moment after the last key."""
        end = f"of {count}" if count else "No question"
        self.page.locator(".dt-info", has_text=re.compile(rf"{end}(?!\d)")).wait_for()

    def question(self, text: str) -> Any:
        """The button that opens a question."""
        return self.page.locator(".open").filter(has_text=text)

    @property
    def details(self) -> Any:
        return self.page.locator(".details")


class Review(Visit):
    """A page whose review is open."""

    def __init__(self, browser: Any, report: Path, **options: Any) -> None:
        super().__init__(browser, report, **options)
        self.open()

    def open(self) -> None:
        self.page.locator("#start-review").click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Replace what a field has."""
        self.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    @property
    def shown(self) -> str:
        """All that is shown of the question."""
        return self.page.locator(".review-question").inner_text()

    @property
    def place(self) -> str:
        """Which question of how many this is."""
        return self.page.locator(".review-place").inner_text()

    @property
    def status(self) -> str:
        return self.page.locator(".review-status").inner_text()

    def list_files(self) -> list[str]:
        return self.page.locator("#review-dialog .review-files button").all_inner_texts()

    def download(self, name: str, folder: Path, *, place: str = "#review-dialog") -> Path:
        """A file that the review writes, from the review or from the page."""
        with self.page.expect_download() as found:
            files = self.page.locator(f"{place} .review-files")
            files.get_by_role("button", name=name).click()
        path = folder / found.value.suggested_filename
        found.value.save_as(path)
        return path
