"""`manage.py dev`: the lab for those who change it. Its runs, its port and its sign-in survive every reload.

A changed template, style or module of the page reloads the open pages. Anything else below `broker_core` or `lab`, and
the catalogues of texts, restarts the server; pages reconnect to the run that they showed.
"""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from lab.exercises.loader import OUTSIDE
from lab.runtime.tcp.bound_ports import lasting_port

#: What the server reads once, when it starts.
RESTARTING = ("broker_core", "lab", "static/lab/i18n", os.environ.get(OUTSIDE, ""))
LOOK_S = 0.3
SETTLE_S = 0.2
"""Editors write a file in several steps, and a branch that is checked out writes many files."""
STOP_S = 30.0

Snapshot = dict[Path, int]


def snapshot(root: Path) -> Snapshot:
    """Each file that the server reads once, with the time of its last change."""
    found: Snapshot = {}
    for folder in filter(None, RESTARTING):
        # A folder of lessons from outside has an absolute path, which stays what it is.
        for path in (root / folder).rglob("*"):
            # a Python interpreter that compiles a module first writes a file with another suffix
            if path.parent.name != "__pycache__" and path.is_file():
                found[path] = path.stat().st_mtime_ns
    return found


class Command(BaseCommand):
    """Keeps a server running, and starts it again when its code has changed."""

    help = "Run the lab; restart it when its code changes, reload its pages when templates, styles or scripts change."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="of the page (default 8000; 0 takes a free one)")

    def handle(self, *args: Any, **options: Any) -> None:
        port = options["port"] or lasting_port()
        token = os.environ.get("HIGHWATER_TOKEN") or secrets.token_urlsafe(24)
        environment = {**os.environ, "HIGHWATER_DEV": "1", "HIGHWATER_TOKEN": token}
        command = [sys.executable, "manage.py", "lab", "--port", str(port)]
        # Ctrl-C reaches the server too, which ends its labs by itself.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)
        server: subprocess.Popen[bytes] | None = None
        try:
            while True:
                seen = snapshot(settings.BASE_DIR)
                server = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, start_new_session=True)
                changed = self._wait_for_a_change(seen)
                self.stderr.write(f"{os.path.relpath(changed, settings.BASE_DIR)} has changed: restarting the server.")
                _stop(server)
        except _Ended:
            pass
        finally:
            if server is not None:
                _stop(server)

    def _wait_for_a_change(self, seen: Snapshot) -> Path:
        """Returns a file that was changed, added or removed, once no other one follows it."""
        while True:
            time.sleep(LOOK_S)
            now = snapshot(settings.BASE_DIR)
            changed = {path for path, _ in seen.items() ^ now.items()}
            if changed:
                while (then := now) != (now := self._later()):
                    changed |= {path for path, _ in then.items() ^ now.items()}
                return min(changed)

    def _later(self) -> Snapshot:
        time.sleep(SETTLE_S)
        return snapshot(settings.BASE_DIR)


class _Ended(Exception):
    """Ctrl-C."""


def _end(*_: object) -> None:
    raise _Ended


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """As Ctrl-C does: its labs are closed in order. Harmless when it has ended, as with a syntax error."""
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
