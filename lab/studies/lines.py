"""Line numbers of keys in a study's file, which tomllib does not keep."""

import json
import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*(?:"([^"]+)"|'([^']+)'|([\w.-]+))\s*=""")
_JSON_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:')


class Lines:
    """Line numbers of a file by key."""

    def __init__(self, text: str, *, is_json: bool) -> None:
        self._found: dict[tuple[str, ...], int] = {}
        self._blocks: dict[tuple[str, ...], int] = {}
        (self._read_json if is_json else self._read_toml)(text.splitlines())

    def of(self, *path: str) -> int:
        """The line of a key, or of the nearest table around it; 1 if there is none."""
        while path:
            if path in self._found:
                return self._found[path]
            path = path[:-1]
        return 1

    def first_of_text(self, *path: str) -> int:
        """The first line of the text of a key."""
        return self._blocks.get(path, self.of(*path))

    def _read_toml(self, lines: Sequence[str]) -> None:
        table: tuple[str, ...] = ()
        quote = ""
        for number, line in enumerate(lines, 1):
            if quote:
                quote = "" if quote in line else quote
                continue
            header = _HEADER.match(line)
            if header and "=" not in line:
                table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
                self._found.setdefault(table, number)
                continue
            key = _KEY.match(line)
            if key is None:
                continue
            path = (*table, next(part for part in key.groups() if part))
            self._found.setdefault(path, number)
            value = line[key.end() :].strip()
            quote = next((mark for mark in ('"""', "'''") if value.startswith(mark) and value.count(mark) == 1), "")
            # The line break after the opening quotes is not part of the text.
            self._blocks[path] = number + 1 if quote and value == quote else number

    def _read_json(self, lines: Sequence[str]) -> None:
        # Names are unique enough for messages: the first line that has the key, with the tables that it may be in.
        for number, line in enumerate(lines, 1):
            for found in _JSON_KEY.finditer(line):
                name = json.loads(f'"{found[1]}"')
                for table in ((), ("grid",), ("settings",), ("faults",), ("title",), ("question",), ("limits",)):
                    self._found.setdefault((*table, name), number)
