"""A real browser for the pages: Debian's chromium driven by Playwright, and axe-core from npm."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradcheck-tests"
AXE = "4.10.3"


@contextmanager
def running(course: Path, directory: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server as anybody starts it: its address, and its process."""
    command = [sys.executable, "-m", "gradcheck", "serve", str(course), "-o", str(directory)]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().split()[0].rstrip("/"), process
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout
        process.stdout.close()


@contextmanager
def driven() -> Iterator[Any]:
    """The browser; where it is not here, the test is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if not CHROMIUM:
        pytest.skip("no chromium is here: no page was looked at")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, home: str, path: str, faults: list[str], **how: Any) -> Iterator[Any]:
    """A page; what it asks of others than home, or complains of, is a fault."""

    def seen(request: Any) -> None:
        if not request.url.startswith(home):
            faults.append(f"asked {request.url}")

    def said(message: Any) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    context = browser.new_context(viewport={"width": 1280, "height": 860}, base_url=home, **how)
    page = context.new_page()
    page.on("request", seen)
    page.on("console", said)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path)
    yield page
    context.close()


def axe() -> str:
    """The text of axe-core; empty where npm's registry is out of reach."""
    script = CACHE / f"axe-{AXE}.js"
    if not script.exists():
        if shutil.which("npm") is None:
            return ""
        CACHE.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", f"axe-core@{AXE}", "--pack-destination", str(CACHE)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=60, cwd=CACHE)
        except (subprocess.SubprocessError, OSError):
            return ""
        with tarfile.open(CACHE / f"axe-core-{AXE}.tgz") as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member
            script.write_bytes(member.read())
    return script.read_text(encoding="utf-8")
