"""The one way in which the lab refuses something to a person: what is wrong, what was expected, what to do."""

from collections.abc import Mapping
from http import HTTPStatus

from broker_core.texts import Rejection, Value, render


class Refusal(Rejection):
    """Invalid input, or a state in which it cannot be served; shown in the page or on the terminal.

    Its texts are those of `id`: `refusal.no_run.what`, `.expected` and `.todo`, with `values` in their places.

    Attributes:
        status: HTTP status of the response.
        field: name of the form's field that it is about; empty where it is about none.
    """

    status: int = HTTPStatus.BAD_REQUEST
    field: str = ""

    def __init__(self, id: str, /, status: int = HTTPStatus.BAD_REQUEST, *, field: str = "", **values: Value) -> None:
        super().__init__(id, **values)
        self.status = int(status)
        self.field = field

    def as_json(self, language: str = "en") -> dict[str, str]:
        """Its three sentences in the reader's language."""
        return {name: render(getattr(self, name), language) for name in ("what", "expected", "todo")}


def rendered(codes: Mapping[str, str], language: str) -> dict[str, str]:
    """The messages of a rejection in the reader's language."""
    return {name: render(code, language) for name, code in codes.items()}


def no_page(path: str) -> Refusal:
    """An address without a page."""
    return Refusal("refusal.no_page", HTTPStatus.NOT_FOUND, path=path)
