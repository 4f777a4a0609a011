"""Ships the code to executors, where it is not installed, and checks their dependencies.

The archive's name carries its digest: executors with an older one also get the new one.
"""

import hashlib
import uuid
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.texts import listed
from lab.analytics import place
from lab.analytics.jvm import SparkError
from lab.analytics.store.objects import is_object_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("broker_core", "lab")
NEEDED = ("pyarrow", "pandas", "msgspec", "google_crc32c", "cramjam")
"""Modules that tasks import, and that executors must have."""
PROBES = 32
"""Number of tasks that check, so that each of a few executors runs some."""
SEEN = 20
"""Maximum number of files that are looked for on executors."""
_INSTALLED_AS = {"google_crc32c": "google-crc32c"}
_DATA = (".json", ".toml")
_ALWAYS = (1980, 1, 1, 0, 0, 0)


def archive(folder: Path) -> Path:
    """An archive of the packages that tasks import, in `folder`; deterministic."""
    files = sorted(path for package in PACKAGES for path in _code(package))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    made = folder / f"highwater-{digest.hexdigest()[:16]}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as stream:
        for path in files:
            # The modification time of a file is irrelevant.
            stream.writestr(zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), _ALWAYS), path.read_bytes())
    return made


def _code(package: str) -> Iterator[Path]:
    for path in (ROOT / package).rglob("*"):
        is_data = package == "broker_core" and path.suffix in _DATA
        if (path.suffix == ".py" or is_data) and "__pycache__" not in path.parts:
            yield path


def ship(session: "SparkSession", folder: Path) -> None:
    """Makes the code available to all tasks of a session, and checks the executors' packages.

    Raises SparkError if packages are missing.
    """
    session.addArtifacts(str(archive(folder)), pyfile=True)
    missing = _asked(session, _missing(NEEDED))
    if missing:
        names = [_INSTALLED_AS.get(name, name) for name in missing]
        raise SparkError("refusal.spark_executor_packages", place=place.name(), packages=listed(names))


def insist_on_shared(session: "SparkSession", tables: str, recorded: Sequence[str]) -> None:
    """Asks executors whether they see the folder of the tables and some files of recordings as this process does. What
    is in an object store is not asked for.

    Raises SparkError if they do not. Does nothing on this machine.
    """
    if place.is_local():
        return
    files = [one for one in recorded if not is_object_store(one)][:SEEN]
    mark = None
    if not is_object_store(tables):
        # A file that is there since a moment ago: another machine may have a folder of the same name.
        mark = Path(tables) / f".seen-{uuid.uuid4().hex}.tmp"
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        files.append(str(mark))
    try:
        unseen = _asked(session, _unseen(files)) if files else []
    finally:
        if mark is not None:
            mark.unlink(missing_ok=True)
    if unseen:
        folder = str(Path(unseen[0]).parent)
        raise SparkError("refusal.spark_folder_not_shared", place=place.name(), folder=folder)


def _asked(session: "SparkSession", question: Callable[[int], str]) -> list[str]:
    """The distinct lines returned by executors."""
    from pyspark.sql import functions as F

    # Without Arrow, which an executor may lack.
    asking = F.udf(question, "string", useArrow=False)
    rows = session.range(0, PROBES, 1, PROBES).select(asking("id").alias("found")).collect()
    return sorted({line for row in rows for line in str(row["found"]).split("\n") if line})


# A nested function is serialized by value: this module could not be imported where packages are missing.


def _missing(modules: Sequence[str]) -> Callable[[int], str]:
    def look(_: int) -> str:
        from importlib.util import find_spec

        return "\n".join(name for name in modules if find_spec(name) is None)

    return look


def _unseen(files: Sequence[str]) -> Callable[[int], str]:
    def look(_: int) -> str:
        import os

        return "\n".join(name for name in files if not os.path.exists(name))  # noqa: PTH110

    return look
