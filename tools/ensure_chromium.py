"""Finds a Chromium for the browser tests and the tour, or fetches one, and says which.

In this order: `CHROMIUM` in the environment, one that the system has, one that Playwright has downloaded, Playwright's
download, and, as root on Debian or Ubuntu, apt (with a font for Chinese, which a bare system lacks).

Prints the path of the executable as the last line of its output; everything else goes to standard error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APT_PACKAGES = ("chromium", "fonts-noto-cjk")
DOWNLOAD_TIMEOUT_S = 300


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
    if download_by_playwright():
        found = find_chromium()
        if found:
            return found[0], "downloaded by Playwright just now"
    if install_by_apt():
        found = find_chromium()
        if found:
            return found[0], "installed by apt just now"
    raise NoChromium(
        "The browser tests need Chromium: the system has none, Playwright could not download one, and "
        + ("apt could not install one." if can_use_apt() else "apt cannot be used here (not root, or no apt).")
        + " Install chromium or google-chrome, or set CHROMIUM to an executable."
    )


def download_by_playwright() -> bool:
    say("no Chromium on this machine; asking Playwright to download one")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "playwright", "install", "chromium"],
            stdout=sys.stderr, timeout=DOWNLOAD_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def can_use_apt() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def install_by_apt() -> bool:
    if not can_use_apt():
        return False
    say(f"installing {' and '.join(APT_PACKAGES)} by apt")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "-q", "update"],
        ["apt-get", "-q", "install", "-y", "--no-install-recommends", *APT_PACKAGES],
    ):
        if subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode != 0:
            return False
    return True


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
