"""A wrong code beyond the limits costs the server less than 5 ms, and in a flood next to nothing."""

import asyncio
import statistics
import time
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from lab.classroom.limits import (
    ADDRESS_TRIES,
    BROWSER_TRIES,
    KEY_WINDOW_S,
    REFUSALS_WITH_PAGE,
    SERVER_TRIES,
    KeyTries,
    WrongCodes,
)
from lab.web.classes import door_pages
from lab.web.classes.door_pages import LINK_KEY_LENGTH
from lab.web.classes.refused_codes import refused_codes

TRIES = 100
LIMIT_MS = 5.0


def test_refused_code_takes_less_than_5_ms_of_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time: what else runs on the machine does not count. The test may not use the database."""
    limits = WrongCodes()
    monkeypatch.setattr(door_pages, "wrong_codes", limits)
    for n in range(ADDRESS_TRIES):
        limits.begin(f"b{n}", "10.0.0.9", time.monotonic())
    took_ms = []
    for n in range(TRIES):
        request = RequestFactory().post("/join/", {"code": f"KITE-{100 + n}"}, REMOTE_ADDR="10.0.0.9")
        request.user = AnonymousUser()
        began_s = time.thread_time()
        assert door_pages.join(request).status_code == 429
        took_ms.append(1_000 * (time.thread_time() - began_s))
    assert statistics.median(took_ms) < LIMIT_MS


def statuses_of(address: str, attempts: int, asked: str = "POST /join/") -> list[int]:
    """What attempts without a cookie are answered before Django sees them; 0: Django sees them."""
    statuses: list[int] = []
    method, path = asked.split(" ")
    browser = door_pages.browser_of({}, address)

    async def django(scope: dict[str, Any], receive: Any, send: Any) -> None:
        statuses.append(0)
        if path.startswith("/return/"):
            door_pages.key_tries.begin(path.split("/")[2], browser, address, time.monotonic())
        else:
            door_pages.wrong_codes.begin(browser, address, time.monotonic())

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            assert 0 < int(dict(message["headers"])[b"retry-after"]) <= KEY_WINDOW_S

    async def attempt() -> None:
        scope = {"type": "http", "method": method, "path": path, "headers": [], "client": (address, 1)}
        for _ in range(attempts):
            await refused_codes(django)(scope, None, send)

    asyncio.run(attempt())
    return statuses


@pytest.mark.parametrize(
    "asked",
    ["POST /join/", "GET /join/KITE-427/", "POST /continue/", "POST /continue/1234567/", "POST /return/2hd56s/"],
)
def test_flood_of_wrong_codes_is_refused_without_a_page_and_no_other_address(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    with_page = BROWSER_TRIES + REFUSALS_WITH_PAGE
    assert statuses_of("10.0.0.9", with_page + 40, asked) == [0] * with_page + [429] * 40
    assert statuses_of("10.0.0.10", BROWSER_TRIES, asked) == [0] * BROWSER_TRIES


def test_flood_of_return_keys_of_many_classes_is_refused_without_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    attempts = SERVER_TRIES + 2 * REFUSALS_WITH_PAGE
    statuses = [statuses_of("10.0.0.9", 1, f"POST /return/c{n}/")[0] for n in range(attempts)]
    assert statuses[-1] == 429 and statuses_of("10.0.0.10", 1, "POST /return/c1/") == [0]


def test_other_browser_of_a_flooding_address_may_still_enter_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    statuses_of("10.0.0.9", 2 * REFUSALS_WITH_PAGE)
    assert door_pages.wrong_codes.wait_in_flood_s("of another", "10.0.0.9", time.monotonic()) == 0.0


@pytest.mark.parametrize("asked", [f"GET /join/{'k' * LINK_KEY_LENGTH}/", "GET /join/", "GET /return/2hd56s/"])
def test_forms_and_links_are_opened_also_by_a_flooding_address(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    for flood in ("POST /join/", "POST /return/2hd56s/"):
        assert statuses_of("10.0.0.9", 2 * REFUSALS_WITH_PAGE, flood)[-1] == 429
    assert statuses_of("10.0.0.9", 1, asked) == [0]
