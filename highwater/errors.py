"""Errors of the package."""


class LabError(LookupError):
    """The tables do not contain what was requested; the message lists what they contain."""
