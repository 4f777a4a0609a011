"""A rejected input, in three messages: what is wrong, what is accepted, what to do."""

from typing import Self

from broker_core.texts.text import Text, Value, render


class Rejection(Exception):
    """Input that is invalid, or that the current state does not allow; nothing has happened.

    `Rejection("shell.unknown_broker", broker=4)` has the messages `shell.unknown_broker.what`, `.expected` and `.todo`,
    which share the values.

    Attributes:
        id: which rejection it is.
        what: what is wrong, with the value that was met.
        expected: what would have been right.
        todo: what to do now.
    """

    id: str
    what: Text
    expected: Text
    todo: Text

    def __init__(self, id: str, /, **values: Value) -> None:
        super().__init__(id)
        self.id = id
        self.what, self.expected, self.todo = (Text(f"{id}.{part}", values) for part in ("what", "expected", "todo"))

    @classmethod
    def of(cls, what: Text, expected: Text, todo: Text) -> Self:
        """A rejection with one of the messages shared with others."""
        rejection = cls.__new__(cls, what.id)
        rejection.id = what.id.removesuffix(".what")
        rejection.what, rejection.expected, rejection.todo = what, expected, todo
        return rejection

    @property
    def codes(self) -> dict[str, str]:
        """Its messages as codes, for another process."""
        return {"what": self.what.code, "expected": self.expected.code, "todo": self.todo.code}

    def __str__(self) -> str:
        return " ".join(map(render, (self.what, self.expected, self.todo)))
