"""The modules that a page loads: all are listed for the browser at once, so that it does not discover them level by
level.
"""

import re
from functools import cache
from pathlib import PurePosixPath

from lab.web.assets import vendor
from lab.web.assets.static_files import build_id, folder

_IMPORT = re.compile(r"""^(?:import|export)\b(?:[^"';]*?\bfrom)?\s*"([^"]+)";""", re.MULTILINE)


def modules_of(path: str) -> list[str]:
    """A module and all its direct and indirect imports, as paths below static/; the module itself comes first."""
    return list(_closure(path, build_id()))


@cache
def _closure(path: str, build: str) -> tuple[str, ...]:
    found = {path: None}
    left = [path]
    while left:
        for imported in _imports(left.pop(0)):
            if imported not in found:
                found[imported] = None
                left.append(imported)
    return tuple(found)


def _imports(path: str) -> list[str]:
    if path.startswith("vendor/"):
        return []
    source = (folder() / path).read_text(encoding="utf-8")
    return [resolved(path, name) for name in _IMPORT.findall(source)]


def resolved(importer: str, name: str) -> str:
    """The path below static/ of an import specifier."""
    if not name.startswith("."):
        return f"vendor/{vendor.lock().imports[name]}"
    parts: list[str] = []
    for part in (PurePosixPath(importer).parent / name).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
