"""Makes `.venv` hold exactly what `requirements.lock` names; does nothing when it already does.

    python3 tools/setup_env.py           uses uv when there is one, else pip python3 tools/setup_env.py --relock  writes
    requirements.lock again from pyproject.toml (needs uv)

Runs on the interpreter that the machine has, before anything is installed: standard library only, and readable by
old interpreters up to the version check, so that they get a sentence and not a SyntaxError.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".requirements-digest"
OLDEST_PYTHON = (3, 11)
NEWER_PYTHONS = ("python3.13", "python3.12", "python3.11")


class SetupError(Exception):
    """Setup cannot continue. The message says what is wrong, what was expected and what to do."""


def lock_digest() -> str:
    """What the environment was made from: the lock's bytes and the interpreter's version."""
    version = ".".join(map(str, sys.version_info[:2]))
    return hashlib.sha256(LOCK.read_bytes() + version.encode()).hexdigest()


def is_up_to_date() -> bool:
    return VENV_PYTHON.exists() and STAMP.exists() and STAMP.read_text() == lock_digest()


def run(command: list[str], failure: str) -> None:
    try:
        code = subprocess.call(command, cwd=str(ROOT))
    except OSError as error:
        raise SetupError(f"{failure} ({error})") from error
    if code != 0:
        raise SetupError(failure)


def create_venv() -> None:
    if VENV_PYTHON.exists() and venv_version() == sys.version_info[:2]:
        return
    if VENV.exists():
        print("setup: .venv belongs to another Python version; recreating it", flush=True)
        shutil.rmtree(VENV)
    uv = shutil.which("uv")
    if uv:
        run([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)], "uv could not create .venv (see above).")
        return
    run(
        [sys.executable, "-m", "venv", str(VENV)],
        "Python could not create .venv (see above). On Debian and Ubuntu install the package python3-venv, or install "
        "uv; then run make again.",
    )


def venv_version() -> tuple[int, ...]:
    try:
        found = subprocess.check_output([str(VENV_PYTHON), "-c", "import sys; print(*sys.version_info[:2])"], text=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(map(int, found.split()))


def install() -> None:
    uv = shutil.which("uv")
    if uv:
        command = [uv, "pip", "sync", "--quiet", "--python", str(VENV_PYTHON), "--require-hashes", str(LOCK)]
    else:
        command = [str(VENV_PYTHON), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(LOCK)]
    run(
        command,
        "The packages of requirements.lock could not be installed (see above). The first setup requires a package "
        "index that pip or uv can reach, and 2 GB of disk. Run make again then: completed downloads are kept.",
    )


def relock() -> None:
    uv = shutil.which("uv")
    if not uv:
        raise SetupError("uv is not on PATH. Expected uv, which writes requirements.lock. Install it and try again.")
    run(
        [uv, "pip", "compile", "--quiet", "--universal", "--python-version", ".".join(map(str, OLDEST_PYTHON)),
         "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate", "--group", "dev",
         "pyproject.toml", "-o", "requirements.lock"],
        "uv could not resolve pyproject.toml (see above).",
    )  # fmt: skip


def on_new_enough_python() -> None:
    """Continues in a newer interpreter when this one is too old and the machine has one."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    for name in NEWER_PYTHONS:
        path = shutil.which(name)
        if path:
            os.execv(path, [path, *sys.argv])
    found = ".".join(map(str, sys.version_info[:3]))
    raise SetupError(
        f"Unsupported Python {found}. Expected Python 3.11 or newer. Install one, or: make PYTHON=/path/to/it"
    )


def main() -> int:
    try:
        on_new_enough_python()
        if "--relock" in sys.argv[1:]:
            relock()
        if is_up_to_date():
            return 0
        began = time.monotonic()
        installer = "uv" if shutil.which("uv") else "pip"
        print(f"setup: installing into .venv with {installer} (the first time takes a few minutes)", flush=True)
        create_venv()
        install()
        STAMP.write_text(lock_digest())
        print(f"setup: done in {time.monotonic() - began:.0f} s", flush=True)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
