"""JSON files of Kafka's tools (`org.apache.kafka.server.util.Json`, Jackson), with the same error messages for values
of the wrong type.
"""

import json
from typing import Any

from broker_core.shell.java.errors import JavaException

MAPPING_EXCEPTION = "com.fasterxml.jackson.databind.JsonMappingException"
_INT = 2**31
_LONG = 2**63


class NotJson(ValueError):
    """The text is not JSON."""


def parse(text: str) -> Any:
    """The first value in a text; what follows it is ignored. Raises NotJson."""
    try:
        value, _ = _DECODER.raw_decode(text.lstrip())
    except ValueError as error:
        raise NotJson(str(error)) from error
    return value


def as_object(value: Any) -> dict[str, Any]:
    """An object. Raises JavaException for another type; so do all functions below."""
    if not isinstance(value, dict):
        raise _mapping(f"Expected JSON object, received {_shown(value)}")
    return value


def as_array(value: Any) -> list[Any]:
    """The elements of an array."""
    if not isinstance(value, list):
        raise _mapping(f"Expected JSON array, received {_shown(value)}")
    return value


def field(value: dict[str, Any], name: str) -> Any:
    """A field of an object, which must exist."""
    if name not in value:
        raise _mapping(f"No such field exists: `{name}`")
    return value[name]


def as_string(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise _expected("String", value)
    return value


def as_int(value: Any) -> int:
    """A 32-bit integer."""
    return _whole("Integer", _INT, value)


def as_long(value: Any) -> int:
    """A 64-bit integer."""
    return _whole("Long", _LONG, value)


def _whole(kind: str, limit: int, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        raise _expected(kind, value)
    return value


def _expected(kind: str, value: Any) -> JavaException:
    return _mapping(f"Expected `{kind}` value, received {_shown(value)}")


def _mapping(message: str) -> JavaException:
    return JavaException(MAPPING_EXCEPTION, message)


def _shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
