"""Regular expressions that a user writes, compiled only if their matching is bounded.

Python and Java match by backtracking: `(a+)+b` takes twice as long with each further character. A command must not stop
the lab, so an upper bound of the steps is computed from the parse tree, for a subject of a given length.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from broker_core.texts import Text, text

MAX_PATTERN_LENGTH = 1_000
MAX_PATTERN_GROUPS = 50
"""Python's parser and the bound recurse into groups."""
MAX_NAME_LENGTH = 249
"""The longest name of a topic."""
MAX_STEPS = 10_000_000
"""Less than a second."""

# The parse tree is needed here, and Python offers no public access to it.
_PARSER: Any = importlib.import_module("re._parser")
_OTHER_CHARACTERS = "\x85\xa0éÉßſ٣中\u2028😀"
"""One character of each kind that \\d, \\s, \\w and ranges distinguish beyond ASCII."""
_CATEGORIES = {"DIGIT": re.compile(r"\d"), "SPACE": re.compile(r"\s"), "WORD": re.compile(r"\w")}

_Item = tuple[Any, Any]
_Characters = frozenset[int]


class RefusedPattern(Exception):
    """A regular expression that the lab does not run, and why."""

    def __init__(self, what: Text) -> None:
        super().__init__(what)
        self.what = what


@lru_cache(maxsize=256)
def bounded_pattern(pattern: str, length: int = MAX_NAME_LENGTH, *, is_searched: bool = False) -> re.Pattern[str]:
    """A regular expression for subjects of at most `length` characters; `is_searched`: it may match anywhere in them.
    Raises RefusedPattern if matching could take more than MAX_STEPS, and re.error for an invalid one.
    """
    groups = pattern.count("(")
    if len(pattern) > MAX_PATTERN_LENGTH or groups > MAX_PATTERN_GROUPS:
        values = {"length": len(pattern), "max": MAX_PATTERN_LENGTH, "groups": groups, "max_groups": MAX_PATTERN_GROUPS}
        raise RefusedPattern(text("shell.pattern_too_long", **values))
    try:
        tree: Sequence[_Item] = _PARSER.parse(pattern)
    except OverflowError as error:
        # The number of a repeat has more than 32 bits.
        raise re.error(str(error), pattern) from None
    if any(kind.startswith("GROUPREF") for kind, _ in _nodes(tree)):
        raise RefusedPattern(text("shell.pattern_refers_back", pattern=pattern))
    steps = _Bound(tree, length).of(tree, frozenset()).steps * (length if is_searched else 1)
    if steps > MAX_STEPS:
        raise RefusedPattern(text("shell.pattern_slow", pattern=pattern, length=length))
    return re.compile(pattern)


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    """All nodes of a parse tree with the names of their kinds, also the members of sets."""
    for part in tree:
        if isinstance(part, tuple) and len(part) == 2 and hasattr(part[0], "name"):
            yield part[0].name, part[1]
            part = part[1]
        if isinstance(part, tuple | list | _PARSER.SubPattern):
            yield from _nodes(part)


class _Cost(NamedTuple):
    """Upper bounds for one start in the subject: of the ways to match, and of the steps until all have been tried."""

    steps: int
    ways: int


def _cost(steps: int, ways: int) -> _Cost:
    return _Cost(min(steps, MAX_STEPS + 1), min(ways, MAX_STEPS + 1))


class _Bound:
    """The bound for one parse tree. It compares sets of characters by samples: ASCII, a few others, and around each
    character that the pattern names.
    """

    def __init__(self, tree: Sequence[_Item], length: int) -> None:
        self._length = length
        found = set(range(128)) | set(map(ord, _OTHER_CHARACTERS))
        for kind, value in _nodes(tree):
            ends = value if kind == "RANGE" else (value,) if kind in ("LITERAL", "NOT_LITERAL") else ()
            found |= {near for end in ends for near in (end - 1, end, end + 1) if 0 <= near < 0x110000}
        self._all = frozenset(found | {other for each in found for other in _cases(each)})

    def of(self, items: Sequence[_Item], follow: _Characters) -> _Cost:
        """The cost of a sequence. `follow`: the characters that may begin what comes after it."""
        steps, ways = 1, 1
        for kind, value in reversed(items):
            cost = self._of_item(kind.name, value, follow)
            steps, ways = _cost(cost.steps + cost.ways * steps, cost.ways * ways)
            follow = self._firsts([(kind, value)], follow)
        return _Cost(steps, ways)

    def _of_item(self, kind: str, value: Any, follow: _Characters) -> _Cost:
        match kind:
            case "BRANCH":
                return self._of_branches(value[1], follow)
            case "SUBPATTERN":
                return self.of(value[3], follow)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._of_repeat(value, follow)
            case "POSSESSIVE_REPEAT":
                return _Cost(self._of_repeat(value, follow).steps, 1)
            case "ATOMIC_GROUP":
                return _Cost(self.of(value, frozenset()).steps, 1)
            case "ASSERT" | "ASSERT_NOT":
                return _Cost(self.of(value[1], frozenset()).steps, 1)
        return _Cost(1, 1)

    def _of_branches(self, branches: Sequence[Sequence[_Item]], follow: _Characters) -> _Cost:
        costs = [self.of(branch, follow) for branch in branches]
        firsts = [self._firsts(branch, follow) for branch in branches]
        # If the next character decides for one branch, the ways of the others do not come on top.
        is_decided = sum(map(len, firsts)) == len(frozenset().union(*firsts))
        ways = [cost.ways for cost in costs]
        return _cost(sum(cost.steps for cost in costs), max(ways) if is_decided else sum(ways))

    def _of_repeat(self, value: tuple[int, int, Any], follow: _Characters) -> _Cost:
        least, most, body = value
        begins, can_be_empty = self._firsts(body, frozenset()), _can_be_empty(body)
        fitting = max(self._length, least) if can_be_empty else self._length // _least_width(body)
        times = min(int(most), fitting)
        each = self.of(body, begins | follow)
        # If the next character decides whether the repeat goes on, there is one place where it ends.
        is_decided = least == most or not (can_be_empty or begins & follow)
        if each.ways == 1:
            return _cost(1 + times * each.steps, 1 if is_decided else max(times - least, 0) + 1)
        steps, ways, at_end = 1, 1, 1 if least == 0 else 0
        for time in range(1, times + 1):
            steps += ways * each.steps
            ways *= each.ways
            at_end += ways if time >= least else 0
            if ways > MAX_STEPS:
                break
        return _cost(steps, ways if is_decided else max(at_end, ways))

    def _firsts(self, items: Sequence[_Item], follow: _Characters) -> _Characters:
        """The characters that may begin a sequence and what comes after it."""
        found: set[int] = set()
        for item in items:
            found |= self._firsts_of_item(*item)
            if not _can_be_empty([item]):
                return frozenset(found)
        return frozenset(found) | follow

    def _firsts_of_item(self, code: Any, value: Any) -> _Characters:
        match code.name:
            case "BRANCH":
                return frozenset().union(*(self._firsts(branch, frozenset()) for branch in value[1]))
            case "SUBPATTERN":
                return self._firsts(value[3], frozenset())
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._firsts(value[2], frozenset())
            case "ATOMIC_GROUP":
                return self._firsts(value, frozenset())
            case "LITERAL" | "NOT_LITERAL" | "IN":
                return self._members(code.name, value)
            case "AT" | "FAILURE":
                return frozenset()
        # Any character; and assertions, which take steps before the next character decides.
        return self._all

    def _members(self, kind: str, value: Any) -> _Characters:
        parts: list[tuple[Any, Any]] = value if kind == "IN" else [(None, value)]
        is_negated = kind == "NOT_LITERAL" or (kind == "IN" and parts[0][0].name == "NEGATE")
        has_category = kind == "IN" and any(code.name == "CATEGORY" for code, _ in parts)
        found = set()
        for each in self._all:
            is_member = any(_holds(code, part, each) for code, part in parts)
            # What a category means beyond ASCII depends on flags.
            if is_member != is_negated or (each > 127 and has_category):
                found.add(each)
        # Case may be ignored.
        return frozenset(found | {other for each in found for other in _cases(each)})


def _cases(code: int) -> set[int]:
    character = chr(code)
    return {ord(other) for other in (character.lower(), character.upper()) if len(other) == 1}


def _holds(code: Any, value: Any, character: int) -> bool:
    kind = "LITERAL" if code is None else code.name
    if kind == "LITERAL":
        return bool(character == value)
    if kind == "RANGE":
        return bool(value[0] <= character <= value[1])
    if kind != "CATEGORY":
        return False
    name: str = value.name.removeprefix("CATEGORY_")
    found = _CATEGORIES[name.removeprefix("NOT_")].fullmatch(chr(character)) is not None
    return found != name.startswith("NOT_")


def _least_width(body: Any) -> int:
    return max(1, int(body.getwidth()[0]))


def _can_be_empty(items: Sequence[_Item]) -> bool:
    return all(_item_can_be_empty(code.name, value) for code, value in items)


def _item_can_be_empty(kind: str, value: Any) -> bool:
    match kind:
        case "BRANCH":
            return any(map(_can_be_empty, value[1]))
        case "SUBPATTERN":
            return _can_be_empty(value[3])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return bool(value[0] == 0) or _can_be_empty(value[2])
        case "ATOMIC_GROUP":
            return _can_be_empty(value)
    return kind in ("AT", "ASSERT", "ASSERT_NOT")
