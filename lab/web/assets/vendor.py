"""Third-party browser files in static/vendor: their lock, and whether it matches them.

The lock is written by tools/vendor.mjs. A lab serves these files itself; nothing is fetched from elsewhere.
"""

import hashlib
import json
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

LOCK_NAME = "vendor.lock.json"


@dataclass(frozen=True)
class VendoredFile:
    """A file as the lock names it: `path` is relative to the vendor folder, `sha384` is an integrity attribute."""

    path: str
    sha384: str
    bytes: int


@dataclass(frozen=True)
class VendorLock:
    """`imports` maps the name that a module imports to the path of the file that answers."""

    imports: dict[str, str]
    files: dict[str, VendoredFile]


def folder() -> Path:
    """The folder of the vendored files."""
    return Path(settings.BASE_DIR) / "static" / "vendor"


def read_lock(directory: Path) -> VendorLock:
    """The lock of a vendor folder. Raises `OSError` when there is none, `ValueError` when it is of another form."""
    raw: dict[str, Any] = json.loads((directory / LOCK_NAME).read_text(encoding="utf-8"))
    try:
        files = {
            f"{package['folder']}/{name}": VendoredFile(f"{package['folder']}/{name}", file["sha384"], file["bytes"])
            for package in raw["packages"]
            for name, file in package["files"].items()
        }
        return VendorLock(dict(raw["imports"]), files)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{LOCK_NAME} is not of the form that tools/vendor.mjs writes: {error!r}") from error


@cache
def lock() -> VendorLock:
    """The project's lock, read once."""
    return read_lock(folder())


def digest(data: bytes) -> str:
    """The integrity value of some bytes: `sha384-` and the digest in base64."""
    return "sha384-" + b64encode(hashlib.sha384(data).digest()).decode("ascii")


def problems(directory: Path) -> list[str]:
    """One sentence for each file that is missing, was changed, or is not in the lock. Empty = all is well."""
    try:
        known = read_lock(directory)
    except OSError:
        return [f"{LOCK_NAME} is missing: run node tools/vendor.mjs, or check out static/vendor again"]
    except ValueError as error:
        return [str(error)]
    found = {
        path.relative_to(directory).as_posix(): path
        for path in directory.rglob("*")
        if path.is_file() and path.name != LOCK_NAME
    }
    said = [f"{name} is missing" for name in known.files if name not in found]
    said += [f"{name} is not in {LOCK_NAME}" for name in found if name not in known.files]
    said += [
        f"{name} was changed: its digest is not the one in {LOCK_NAME}"
        for name, file in known.files.items()
        if name in found and digest(found[name].read_bytes()) != file.sha384
    ]
    said += [f"{name} is imported but not in {LOCK_NAME}" for name in known.imports.values() if name not in known.files]
    return sorted(said)
