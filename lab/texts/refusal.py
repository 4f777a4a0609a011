"""The one way in which the lab says no to a person: what was wrong, what was expected, what to do."""

from http import HTTPStatus

from lab.texts.refusals import in_language


class Refusal(Exception):
    """Bad input, or a state of the world in which it cannot be served. Shown as it is, in the page or on the terminal.

    Attributes:
        what: what was wrong, with the value that was met.
        expected: what would have been right.
        todo: what to do now.
        status: HTTP status of the answer.
        field: the field of the form that it is about, by its name; empty where it is about none.
    """

    def __init__(
        self, what: str, expected: str, todo: str, status: int = HTTPStatus.BAD_REQUEST, field: str = ""
    ) -> None:
        super().__init__(what, expected, todo)
        self.what = what
        self.expected = expected
        self.todo = todo
        self.status = int(status)
        self.field = field

    def __str__(self) -> str:
        return f"{self.what} {self.expected} {self.todo}"

    def as_json(self, language: str = "en") -> dict[str, str]:
        """Its three sentences in the language of who reads them."""
        texts = {"what": self.what, "expected": self.expected, "todo": self.todo}
        return {name: in_language(text, language) for name, text in texts.items()}


def no_page(path: str) -> Refusal:
    """An address that leads nowhere."""
    return Refusal(
        f"There is no page {path}.",
        "The address of a page of this lab was expected.",
        "Open the list of runs and go on from there.",
        HTTPStatus.NOT_FOUND,
    )


def not_found(what: str) -> Refusal:
    """A run, branch or file that is not there, or belongs to somebody else: the two look the same from outside."""
    return Refusal(
        what,
        "The address of a run in your list was expected.",
        "Open the list of runs and choose one.",
        HTTPStatus.NOT_FOUND,
    )
