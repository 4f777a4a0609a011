"""Patches: the few paths of the view that one event changed, and their inverse.

A patch is a list of `[pointer, value]` (JSON pointer, RFC 6901); `[pointer]` alone removes. Arrays are replaced as a
whole.
"""

from typing import Any, TypeAlias

Patch: TypeAlias = list[list[Any]]
#: The view, or a copy of it, as JSON.
Tree: TypeAlias = Any


def escape(key: str) -> str:
    """A key as written in a pointer."""
    if "/" in key or "~" in key:
        return key.replace("~", "~0").replace("/", "~1")
    return key


def _locate(view: Tree, pointer: str) -> tuple[dict[str, Any], str]:
    keys = pointer.split("/")
    if "~" in pointer:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in keys]
    node: dict[str, Any] = view
    for key in keys[1:-1]:
        node = node[key]
    return node, keys[-1]


def apply(view: Tree, patch: Patch) -> None:
    """Changes `view` in place. Raises KeyError for a path that does not exist: view and patch do not belong
    together.
    """
    for change in patch:
        node, key = _locate(view, change[0])
        if len(change) == 1:
            del node[key]
        else:
            node[key] = change[1]


def inverse(view: Tree, patch: Patch) -> Patch:
    """The inverse patch, computed before `patch` is applied to `view`."""
    back: Patch = []
    seen: set[str] = set()
    for change in patch:
        pointer = change[0]
        if pointer in seen:
            continue
        seen.add(pointer)
        try:
            node, key = _locate(view, pointer)
        except KeyError:
            continue
        back.append([pointer, node[key]] if key in node else [pointer])
    back.reverse()
    return back
