"""Jackson's error for text that is not JSON: the exception's class, and its message with the position."""

from typing import NamedTuple

PARSE_EXCEPTION = "com.fasterxml.jackson.core.JsonParseException"
EOF_EXCEPTION = "com.fasterxml.jackson.core.io.JsonEOFException"
_SOURCE = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: {}, column: {}]"
_WORDS = ("true", "false", "null")


_NO_VALUE = "expected a valid value (JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
_NO_COMMENT = (
    "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not enabled for parser)"
)
_NO_PLUS = (
    "JSON spec does not allow numbers to have plus signs: enable "
    "`JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow"
)
_NO_NUMBER = {"-": "No digit following minus sign", "+": " in a Number value"}


class Fault(NamedTuple):
    """The exception, and its message in lines."""

    java_class: str
    lines: tuple[str, ...]


class _Found(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def fault(text: str) -> Fault | None:
    """The first error in a text; None if its first value is valid."""
    try:
        _Reader(text).value()
    except _Found as found:
        return found.fault
    return None


def _shown(character: str) -> str:
    """A character with its code, also in hex if it is not a byte."""
    code = ord(character)
    return f"'{character}' (code {code} / {hex(code)})" if code > 255 else f"'{character}' (code {code})"


class _Reader:
    """Parses one value as Jackson does and stops at the first unexpected character."""

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
        elif character in "0123456789-+":
            self._number(character)
        elif character in "]}" and not context:
            expected = "}" if character == "]" else "]"
            where = _SOURCE.partition(", column")[0].format(self.text.count("\n", 0, self.at) + 1) + "]"
            message = f"Unexpected close marker '{character}': expected '{expected}' (for root starting at {where})"
            raise self._parse(message)
        elif character.isalpha() or character in "_$":
            self._word()
        else:
            raise self._unexpected(_NO_VALUE)

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
            self._end_after_comma("Object")
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
            self._end_after_comma("Array")
            first = False

    def _string(self, what: str) -> None:
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                return
            if character == "\\":
                self._escape()
            elif ord(character) < 32:
                self.in_string = True
                why = f"has to be escaped using backslash to be included in {what}"
                raise self._parse(f"Illegal unquoted character ((CTRL-CHAR, code {ord(character)})): {why}")
        where = " in field name" if what == "name" else ": was expecting closing quote for a string value"
        raise self._end(f"Unexpected end-of-input{where}")

    def _escape(self) -> None:
        character = self.text[self.at : self.at + 1]
        self.at += 1
        if character and character not in '"\\/bfnrtu':
            raise self._parse(f"Unrecognized character escape {_shown(character)}")
        for _ in range(4 if character == "u" else 0):
            digit = self.text[self.at : self.at + 1]
            self.at += 1
            if digit and digit not in "0123456789abcdefABCDEF":
                raise self._unexpected("expected a hex-digit for character escape sequence")

    def _number(self, first: str) -> None:
        if first in "+-":
            self._after_sign(first)
            first = self.text[self.at - 1]
        if first == "0" and self.text[self.at : self.at + 1].isdigit():
            raise self._parse("Invalid numeric value: Leading zeroes not allowed")
        self._digits()
        if self.text[self.at : self.at + 1] == ".":
            self.at += 1
            self._some_digits("Decimal point")
        if self.text[self.at : self.at + 1] in ("e", "E"):
            self.at += 1
            has_sign = self.text[self.at : self.at + 1] in ("+", "-")
            self.at += has_sign
            self._some_digits("Exponent indicator", behind_sign=has_sign)

    def _after_sign(self, sign: str) -> None:
        """Reads the digit after a sign."""
        word = next((word for word in ("Infinity", "INF") if self.text.startswith(word, self.at)), "")
        if word:
            self.at += len(word)
            raise self._not_standard(sign + word)
        following = self.text[self.at : self.at + 1]
        if not following:
            raise self._end(f"Unexpected end-of-input{_NO_NUMBER[sign]}")
        if sign == "+":
            self.at += 1
            raise self._parse(f"Unexpected character ('+' (code 43)) in numeric value: {_NO_PLUS}")
        self.at += 1
        if following == ".":
            raise self._unexpected(_NO_VALUE)
        if not following.isdigit():
            raise self._in_number("expected digit (0-9) to follow minus sign, for valid numeric value")

    def _digits(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1

    def _some_digits(self, what: str, *, behind_sign: bool = False) -> None:
        start = self.at
        self._digits()
        if self.at == start:
            # At the end of the text the error names the last character.
            fault_at = self.at if self.at < len(self.text) else self.at - 1
            character = self.text[fault_at]
            why = f"{what} not followed by a digit"
            self.at -= behind_sign
            raise self._parse(f"Unexpected character ({_shown(character)}) in numeric value: {why}")

    def _in_number(self, why: str) -> _Found:
        return self._parse(f"Unexpected character ({_shown(self.text[self.at - 1])}) in numeric value: {why}")

    def _not_standard(self, token: str) -> _Found:
        return self._parse(f"Non-standard token '{token}': enable `JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS` to allow")

    def _end_after_comma(self, what: str) -> None:
        if not self._peek():
            raise self._parse(f"Unexpected end-of-input within/between {what} entries")

    def _word(self) -> None:
        start = self.at - 1
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_$"):
            self.at += 1
        word = self.text[start : self.at]
        if word in ("NaN", "Infinity", "INF"):
            raise self._not_standard(word)
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
        if character == "/":
            why = _NO_COMMENT
        return self._parse(f"Unexpected character ({_shown(character)}): {why}")

    def _closed(self, found: str, expected: str, what: str, start: int) -> _Found:
        where = self._source(start - 1)
        return self._parse(f"Unexpected close marker '{found}': expected '{expected}' (for {what} starting at {where})")

    def _parse(self, message: str) -> _Found:
        return _Found(Fault(PARSE_EXCEPTION, (message, f" at {self._source(self.at)}")))

    def _end(self, message: str) -> _Found:
        return _Found(Fault(EOF_EXCEPTION, (message, f" at {self._source(self.at)}")))

    def _source(self, at: int) -> str:
        """A position as named by Jackson: the column is that of the next character."""
        # A line break that is itself the error belongs to the line that it ends.
        before = at - 1 if at and self.text[at - 1] == "\n" and self.in_string else at
        line_start = self.text.rfind("\n", 0, before) + 1
        return _SOURCE.format(self.text.count("\n", 0, before) + 1, at - line_start + 1)
