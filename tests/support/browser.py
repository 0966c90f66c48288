"""A real browser for the pages: Debian's chromium driven by Playwright, and axe-core from npm."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradcheck-tests"
AXE = "4.10.3"


@contextmanager
def running(course: Path, directory: Path) -> Iterator[str]:
    """A server as anybody starts it; its address."""
    command = [sys.executable, "-m", "gradcheck", "serve", str(course), "-o", str(directory)]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().split()[0].rstrip("/")
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout
        process.stdout.close()


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
