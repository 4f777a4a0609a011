"""The error for malformed messages."""


class WireError(ValueError):
    """Malformed bytes, or a message that a version cannot encode; the text says why. A broker closes the connection."""
