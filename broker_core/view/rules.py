"""Rules of the fold: for most kinds of event, which path gets which value. Compiled once into straight-line functions.

A rule is `(path, value)`. In the path, `{name}` stands for a field of the event (or `node`, `seq`), numbers as text;
the value is a Python expression over `event`, `seq`, `at_us`, `node`, and `old` (what the path held before), or
`REMOVE`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from broker_core.events import Event
from broker_core.view.patch import Patch, View

FoldFunction: TypeAlias = Callable[[View, Any, int, int, str], Patch]
REMOVE = "REMOVE"

FOLDS: dict[type[Event], FoldFunction] = {}


def folds(*kinds: type[Event]) -> Callable[[FoldFunction], FoldFunction]:
    """Registers a hand-written fold: `fold(view, event, seq, at_us, node) -> patch`. It changes the view and says
    what it changed; a dict that a later event may change must be a copy in the patch.
    """

    def register(function: FoldFunction) -> FoldFunction:
        for kind in kinds:
            if kind in FOLDS:
                raise ValueError(f"{kind.__name__} is folded twice")
            FOLDS[kind] = function
        return function

    return register


def rule(kind: type[Event], *rules: tuple[str, str]) -> None:
    """Registers the rules of a kind. No rules: the event changes nothing in the view."""
    lines = ["def fold(view, event, seq, at_us, node):"]
    changes = []
    names: dict[str, str] = {}
    for number, (path, value) in enumerate(rules):
        keys = []
        pointer = ""
        for key in path.split("/")[1:]:
            if key.startswith("{"):
                field = key[1:-1]
                if field not in names:
                    names[field] = f"k_{field}"
                    source = field if field in ("node", "seq") else f"event.{field}"
                    is_number = field == "seq" or (field != "node" and kind.__annotations__[field] is int)
                    lines.append(f"    k_{field} = str({source})" if is_number else f"    k_{field} = {source}")
                keys.append(f"k_{field}")
                pointer += "/{" + keys[-1] + "}"
            else:
                keys.append(repr(key))
                pointer += f"/{key}"
        parent = "view" + "".join(f"[{key}]" for key in keys[:-1])
        if value == REMOVE:
            lines.append(f"    {parent}.pop({keys[-1]}, None)")
            changes.append(f"[f{pointer!r}]")
            continue
        lines.append(f"    p{number} = {parent}")
        if "old" in value:
            lines.append(f"    old = p{number}[{keys[-1]}]")
        lines.append(f"    v{number} = p{number}[{keys[-1]}] = {value}")
        shown = f"dict(v{number})" if value.lstrip().startswith("{") else f"v{number}"
        changes.append(f"[f{pointer!r}, {shown}]")
    lines.append(f"    return [{', '.join(changes)}]")
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<fold of {kind.__name__}>", "exec"), scope)
    folds(kind)(scope["fold"])
