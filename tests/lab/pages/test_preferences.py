"""Language, theme and density: by cookie, by what the browser prefers, and by a link that works without JavaScript."""

import pytest
from django.http import HttpRequest, HttpResponse

from lab.preferences import Preferences, keep_preferences, preferences_of


@pytest.mark.parametrize(
    ("accepts", "language"),
    [("zh-CN,zh;q=0.9", "zh-CN"), ("zh", "zh-CN"), ("en-GB,en", "en"), ("de,zh;q=0.5", "en"), ("", "en")],
)
def test_accept_language_selects_the_language(rf, accepts: str, language: str) -> None:
    assert preferences_of(rf.get("/", headers={"Accept-Language": accepts})) == Preferences(language, "dark")


def test_cookie_overrides_accept_language(rf) -> None:
    rf.cookies.load({"language": "en", "theme": "light", "density": "comfortable"})
    request = rf.get("/", headers={"Accept-Language": "zh"})
    assert preferences_of(request) == Preferences("en", "light", "comfortable")


def test_invalid_cookie_is_ignored(rf) -> None:
    rf.cookies.load({"language": "../en", "theme": "pink", "density": "9"})
    assert preferences_of(rf.get("/")) == Preferences("en", "dark", "compact")


def answer(request: HttpRequest) -> HttpResponse:
    response: HttpResponse = keep_preferences(lambda _: HttpResponse("the page"))(request)
    return response


def test_link_sets_a_preference_and_redirects(rf) -> None:
    response = answer(rf.get("/r/a/main?t=1.5&theme=light&p=orders-0"))
    assert response.status_code == 302
    assert response["Location"] == "/r/a/main?t=1.5&p=orders-0"
    assert response.cookies["theme"].value == "light"


@pytest.mark.parametrize("address", ["/runs/", "/runs/?theme=pink", "/runs/?language=", "/runs/?name=theme"])
def test_other_parameters_are_left_alone(rf, address: str) -> None:
    assert answer(rf.get(address)).content == b"the page"
    assert not answer(rf.get(address)).cookies


def test_form_is_not_redirected(rf) -> None:
    assert answer(rf.post("/runs/new?theme=light")).content == b"the page"
