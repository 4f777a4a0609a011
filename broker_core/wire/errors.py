"""What goes wrong with bytes on a wire."""


class WireError(ValueError):
    """Bytes that are no message, or a message that a version cannot say; the text tells what. A broker closes."""
