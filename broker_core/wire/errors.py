"""The error for malformed messages."""

from broker_core.texts import Text, text


class WireError(ValueError):
    """Malformed bytes, or a message that a version cannot encode. A broker closes the connection."""

    def __init__(self, rule: Text) -> None:
        super().__init__(rule)
        self.rule = rule


def null_field(field: str) -> WireError:
    """A field that may not be null is."""
    return WireError(text("wire.null_field", field=field))


def too_many_entries(field: str, entries: int, left: int) -> WireError:
    """An array gives more entries than the bytes that are left can hold."""
    return WireError(text("wire.entries", field=field, entries=entries, left=left))


def missing_field(field: str) -> WireError:
    """A version has no place for a field that is not at its default."""
    return WireError(text("wire.missing_field", field=field))
