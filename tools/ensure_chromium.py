"""Finds a Chromium for the browser tests and the tour, or fetches one, and says which.

In this order: `CHROMIUM` in the environment, one that the system has, one that Playwright has downloaded, Playwright's
download, and, as root on Debian or Ubuntu, apt (with a font for Chinese, which a bare system lacks).

Prints the path of the executable as the last line of its output; everything else is printed to standard error. The
output of the attempts is shown only when all of them have failed: some are expected to, on a machine without access to
the Internet.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: The headless shell has no window to draw, which halves the processor time of the browser tests.
SYSTEM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
#: Of Debian; Ubuntu and older releases have no headless shell.
APT_BROWSERS = ("chromium-headless-shell", "chromium")
APT_FONTS = "fonts-noto-cjk"
FETCH_TIMEOUT_S = 900
LINES_SHOWN = 3


class NoChromium(Exception):
    """None was found and none could be fetched. The message says what to do."""


def find_chromium() -> tuple[str, str] | None:
    """The executable and where it comes from, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        if not os.access(named, os.X_OK):
            raise NoChromium(f"CHROMIUM={named} is not an executable file. Name a Chromium or Chrome, or unset it.")
        return named, "named by CHROMIUM"
    for name in SYSTEM_NAMES:
        path = shutil.which(name)
        if path:
            return path, "the system's"
    playwright = playwright_executable()
    return (playwright, "Playwright's") if playwright else None


def playwright_executable() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def ensure_chromium() -> tuple[str, str]:
    """Finds or fetches.

    Raises:
        NoChromium: neither worked.
    """
    found = find_chromium()
    if found:
        return found
    say("no Chromium on this machine; fetching one, which takes a minute or so")
    attempts: list[tuple[str, str]] = []
    for origin, command in _ways():
        output = _run(command)
        if output is None:
            found = find_chromium()
            if found:
                return found[0], f"{origin} just now"
            output = "It ended well, and still there is none."
        attempts.append((origin, output))
    raise NoChromium(_explain(attempts))


def can_use_apt() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def _ways() -> Iterator[tuple[str, str]]:
    """Ways to get one, in turn: (where it comes from then, a line of the shell)."""
    yield "downloaded by Playwright", shlex.join([sys.executable, "-m", "playwright", "install", "chromium"])
    if can_use_apt():
        for browser in APT_BROWSERS:
            install = f"apt-get -q install -y --no-install-recommends {shlex.join((browser, APT_FONTS))}"
            yield "installed by apt", f"apt-get -q update && DEBIAN_FRONTEND=noninteractive {install}"


def _run(command: str) -> str | None:
    """Runs a line of the shell without a word: returns None when it worked, else what it printed."""
    try:
        done = subprocess.run(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=FETCH_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"It took more than {FETCH_TIMEOUT_S} s."
    return None if done.returncode == 0 else done.stdout


def _explain(attempts: list[tuple[str, str]]) -> str:
    """All attempts failed: now their output matters."""
    tried = "".join(f"\n  Not {origin}: {_last_lines(output)}" for origin, output in attempts)
    without_apt = "" if can_use_apt() else "\n  apt was not tried: that needs root and apt-get."
    return (
        "The browser tests need Chromium, and none could be fetched."
        f"{tried}{without_apt}\n  Install chromium or google-chrome, or set CHROMIUM to an executable."
    )


def _last_lines(output: str) -> str:
    """The last lines that are neither empty nor part of a stack trace."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " / ".join(lines[-LINES_SHOWN:]) or "no output"


def say(text: str) -> None:
    print(f"chromium: {text}", file=sys.stderr, flush=True)


def main() -> int:
    try:
        path, origin = ensure_chromium()
    except NoChromium as error:
        say(str(error))
        return 1
    say(f"using {path} ({origin})")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
