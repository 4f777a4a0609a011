"""What Jackson says of a text that is no JSON: the exception's class, and its message with the place of the fault."""

from typing import NamedTuple

PARSE_EXCEPTION = "com.fasterxml.jackson.core.JsonParseException"
EOF_EXCEPTION = "com.fasterxml.jackson.core.io.JsonEOFException"
_SOURCE = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: {}, column: {}]"
_WORDS = ("true", "false", "null")


class Fault(NamedTuple):
    """The exception, and its message in lines."""

    java_class: str
    lines: tuple[str, ...]


class _Found(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def fault(text: str) -> Fault | None:
    """The first fault of a text; None where its first value is sound."""
    try:
        _Reader(text).value()
    except _Found as found:
        return found.fault
    return None


class _Reader:
    """Reads one value as Jackson does and stops at the first character that may not stand where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.in_string = False

    def value(self, context: str = "") -> None:
        character = self._next(context or None)
        if character == "{":
            self._object()
        elif character == "[":
            self._array()
        elif character == '"':
            self._string("string value")
        elif character.isdigit() or character == "-":
            self._number(character)
        elif character.isalpha() or character in "_$":
            self._word()
        else:
            expected = "a valid value (JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
            raise self._unexpected(f"expected {expected}")

    def _object(self) -> None:
        start = self.at
        first = True
        while True:
            character = self._next("Object", start)
            if character == "}" and first:
                return
            if character != '"':
                if character == "]":
                    raise self._closed("]", "}", "Object", start)
                raise self._unexpected("was expecting double-quote to start field name")
            self._string("name")
            if self._next("Object entries") != ":":
                raise self._unexpected("was expecting a colon to separate field name and value")
            self.value("Object entries")
            character = self._next("Object", start)
            if character == "}":
                return
            if character == "]":
                raise self._closed("]", "}", "Object", start)
            if character != ",":
                raise self._unexpected("was expecting comma to separate Object entries")
            first = False

    def _array(self) -> None:
        start = self.at
        first = True
        while True:
            if first and self._peek() == "]":
                self._next()
                return
            if self._peek() == "}":
                self._next()
                raise self._closed("}", "]", "Array", start)
            if not self._peek():
                self._next("Array", start)
            self.value("Array")
            character = self._next("Array", start)
            if character == "]":
                return
            if character == "}":
                raise self._closed("}", "]", "Array", start)
            if character != ",":
                raise self._unexpected("was expecting comma to separate Array entries")
            first = False

    def _string(self, what: str) -> None:
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                return
            if character == "\\":
                self.at += 1
            elif ord(character) < 32:
                self.in_string = True
                why = f"has to be escaped using backslash to be included in {what}"
                raise self._parse(f"Illegal unquoted character ((CTRL-CHAR, code {ord(character)})): {why}")
        where = " in field name" if what == "name" else ": was expecting closing quote for a string value"
        raise self._end(f"Unexpected end-of-input{where}")

    def _number(self, first: str) -> None:
        following = self.text[self.at : self.at + 1]
        if first == "0" and following.isdigit():
            raise self._parse("Invalid numeric value: Leading zeroes not allowed")
        while self.at < len(self.text) and self.text[self.at] in "0123456789.eE+-":
            self.at += 1

    def _word(self) -> None:
        start = self.at - 1
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_$"):
            self.at += 1
        word = self.text[start : self.at]
        if word not in _WORDS:
            expected = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
            raise self._parse(f"Unrecognized token '{word}': was expecting {expected}")

    def _peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1
        return self.text[self.at : self.at + 1]

    def _next(self, context: str | None = None, start: int | None = None) -> str:
        character = self._peek()
        if character:
            self.at += 1
            return character
        if start is not None:
            where = self._source(start - 1)
            raise self._end(f"Unexpected end-of-input: expected close marker for {context} (start marker at {where})")
        raise self._end(f"Unexpected end-of-input within/between {context}" if context else "Unexpected end-of-input")

    def _unexpected(self, why: str) -> _Found:
        character = self.text[self.at - 1]
        return self._parse(f"Unexpected character ('{character}' (code {ord(character)})): {why}")

    def _closed(self, found: str, expected: str, what: str, start: int) -> _Found:
        where = self._source(start - 1)
        return self._parse(f"Unexpected close marker '{found}': expected '{expected}' (for {what} starting at {where})")

    def _parse(self, message: str) -> _Found:
        return _Found(Fault(PARSE_EXCEPTION, (message, f" at {self._source(self.at)}")))

    def _end(self, message: str) -> _Found:
        return _Found(Fault(EOF_EXCEPTION, (message, f" at {self._source(self.at)}")))

    def _source(self, at: int) -> str:
        """A place as Jackson names it: the column is that of the next character."""
        # a line break that is at fault itself belongs to the line that it ends
        before = at - 1 if at and self.text[at - 1] == "\n" and self.in_string else at
        line_start = self.text.rfind("\n", 0, before) + 1
        return _SOURCE.format(self.text.count("\n", 0, before) + 1, at - line_start + 1)
