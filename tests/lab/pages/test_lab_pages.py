"""Signing in, the list of runs, rights, and headers of every response."""

import gzip
import re
from itertools import pairwise

import pytest
from django.conf import settings

from lab.actions import start_run
from tests.support.lab_server import LabServer, Visitor


def titles(visitor: Visitor) -> list[str]:
    """The names in the list of runs."""
    return re.findall(r'<h2><a href="/r/[^"]+">([^<]+)</a></h2>', visitor.get("/runs/").text)


# Signing in


def test_printed_address_ends_at_a_page_and_not_at_the_token(lab_server: LabServer) -> None:
    answer = Visitor(lab_server).get(f"/sign-in/?token={settings.SIGN_IN_TOKEN}")
    assert answer.status == 200
    assert answer.url == lab_server.address + "/"


def test_sign_in_continues_to_the_requested_page(lab_server: LabServer) -> None:
    visitor = Visitor(lab_server)
    requested = visitor.get("/r/nosuch/main?t=1")
    assert requested.status == 200 and "/sign-in/?next=" in requested.url
    answer = visitor.get(f"/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/runs/%3Ftheme%3Dlight")
    assert answer.url == lab_server.address + "/runs/"
    assert 'data-theme="light"' in answer.text


@pytest.mark.parametrize("following", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil"])
def test_sign_in_does_not_redirect_to_another_site(lab_server: LabServer, following: str) -> None:
    from urllib.parse import quote

    answer = Visitor(lab_server).get(f"/sign-in/?token={settings.SIGN_IN_TOKEN}&next={quote(following)}")
    assert answer.url == lab_server.address + "/"


@pytest.mark.parametrize("token", ["", "forged", "x" * 5_000, "%00", "令牌"])
def test_invalid_token_gets_a_page_with_a_remedy(lab_server: LabServer, token: str) -> None:
    from urllib.parse import quote

    visitor = Visitor(lab_server)
    answer = visitor.get(f"/sign-in/?token={quote(token, safe='%')}")
    assert answer.status == 403
    assert "not valid" in answer.text and "terminal" in answer.text
    assert visitor.get("/runs/").url != lab_server.address + "/runs/"


@pytest.mark.parametrize("path", ["/runs/", "/r/a/main", "/"])
def test_pages_require_sign_in(lab_server: LabServer, path: str) -> None:
    answer = Visitor(lab_server).get(path)
    assert answer.status == 200 and "/sign-in/" in answer.url


def test_api_answers_in_json_whatever_is_wrong(lab_server: LabServer, visitor: Visitor) -> None:
    refused = Visitor(lab_server).get("/api/runs/a/main/index.json")
    assert refused.status == 401 and refused.json["todo"]
    for path in ("/api/runs/a/main/index.json", "/api/nosuch", "/api/runs/a/main/segments/x.json"):
        missing = visitor.get(path)
        assert missing.status == 404
        assert set(missing.json) == {"what", "expected", "todo"}


# The list of runs


def test_run_is_started_renamed_duplicated_and_deleted(visitor: Visitor) -> None:
    run = visitor.new_run(name="  First   steps ", seed="42", brokers="2")
    assert titles(visitor)[0] == "First steps"
    visitor.post(f"/runs/{run}/rename", name="Second steps")
    assert titles(visitor)[0] == "Second steps"
    visitor.post(f"/runs/{run}/duplicate")
    assert titles(visitor)[:2] == ["Second steps (copy)", "Second steps"]
    assert visitor.post(f"/runs/{run}/delete").status == 400
    assert "Second steps" in titles(visitor)
    visitor.post(f"/runs/{run}/delete", confirm="yes")
    assert titles(visitor)[0] == "Second steps (copy)"
    assert "Second steps" not in titles(visitor)
    assert visitor.get(f"/r/{run}/main").status == 404
    assert not (settings.RUNS / run).exists()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", "", "no name"),
        ("name", "x" * 81, "81 characters"),
        ("brokers", "0", "1 to 7"),
        ("brokers", "8", "1 to 7"),
        ("brokers", "three", "1 to 7"),
        ("seed", "-1", "seed"),
        ("seed", "1e9", "seed"),
        ("seed", "", "seed"),
        ("era", "4.0", "4.0"),
    ],
)
def test_invalid_run_is_refused_on_the_page(visitor: Visitor, field: str, value: str, says: str) -> None:
    before = titles(visitor)
    answer = visitor.post("/runs/new", **{"name": "a run", "seed": "1", "brokers": "3", field: value})
    assert answer.status == 400
    assert says in answer.text
    assert titles(visitor) == before
    wrong = marked_as_wrong(answer.text)
    assert wrong == [f"new-run {field}"]


def marked_as_wrong(page: str) -> list[str]:
    """The form and the name of each invalid field, which points at its message and has the focus."""
    found = []
    for form in re.findall(r"<form.*?</form>", page, re.S):
        for tag in re.findall(r'<(?:input|fieldset)[^>]*aria-invalid="true"[^>]*>', form):
            assert 'aria-describedby="form-error"' in tag and 'role="alert" id="form-error"' in form
            field = re.search(r'name="(\w+)"', form[form.index(tag) :])
            assert field and len(re.findall(r"<input[^>]* autofocus", page)) == 1
            assert re.search(rf'<input[^>]*name="{field[1]}"[^>]* autofocus', form)
            found.append(f"{'new-run' if 'new-run' in form else 'rename'} {field[1]}")
    return found


def test_invalid_name_is_refused_at_its_field(visitor: Visitor) -> None:
    run = visitor.new_run(name="Kept as it is")
    visitor.new_run(name="Another one")
    answer = visitor.post(f"/runs/{run}/rename", name="y" * 81)
    assert answer.status == 400 and "81 characters" in answer.text
    assert marked_as_wrong(answer.text) == ["rename name"]
    assert f'value="{"y" * 81}"' in answer.text
    assert "Kept as it is" in titles(visitor)


def test_form_shows_no_error_before_submission(visitor: Visitor) -> None:
    assert marked_as_wrong(visitor.get("/runs/").text) == []


def test_names_are_shown_as_text(visitor: Visitor) -> None:
    visitor.new_run(name="<script>alert(1)</script>")
    page = visitor.get("/runs/").text
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page


def test_runs_are_found_by_words_and_ordered(visitor: Visitor) -> None:
    for name in ("Zebra lag", "acks lag", "Zebra acks"):
        visitor.new_run(name=name)

    def shown(query: str) -> list[str]:
        return re.findall(r'<h2><a href="/r/[^"]+">([^<]+)</a></h2>', visitor.get(f"/runs/?{query}").text)

    assert shown("q=LAG") == ["acks lag", "Zebra lag"]
    assert shown("q=zebra+lag&sort=nonsense") == ["Zebra lag"]
    assert shown("q=zebra&sort=name") == ["Zebra acks", "Zebra lag"]
    nothing = visitor.get("/runs/?q=<i>").text
    assert "No run matches “&lt;i&gt;”." in nothing and "<i>”" not in nothing


def test_selected_runs_are_deleted_together_when_that_is_confirmed(visitor: Visitor, other_visitor: Visitor) -> None:
    one, two, kept = (visitor.new_run(name=name) for name in ("Old one", "Old two", "Kept run"))
    foreign = other_visitor.new_run(name="Foreign")
    answer = visitor.post_list("/runs/delete", run=[one, two])
    assert answer.status == 400 and "was not deleted" in answer.text
    assert visitor.post_list("/runs/delete", run=[one, foreign], confirm=["yes"]).status == 404
    assert visitor.post_list("/runs/delete", confirm=["yes"]).status == 400
    assert {"Old one", "Old two", "Kept run"} <= set(titles(visitor))
    assert visitor.post_list("/runs/delete", run=[one, two], confirm=["yes"]).status == 200
    assert "Kept run" in titles(visitor) and not {"Old one", "Old two"} & set(titles(visitor))
    assert titles(other_visitor) == ["Foreign"]
    assert not (settings.RUNS / one).exists() and (settings.RUNS / kept).exists()


def test_run_limit_is_enforced_for_every_way_to_create_one(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    run = visitor.new_run(name="The last one")
    monkeypatch.setattr(start_run, "MAX_RUNS", len(titles(visitor)))
    before, folders = titles(visitor), sorted(settings.RUNS.iterdir())
    for path, form in (("/runs/new", {"name": "more", "seed": "1", "brokers": "1"}), (f"/runs/{run}/duplicate", {})):
        answer = visitor.post(path, **form)
        assert answer.status == 409 and "You already have" in answer.text, path
    assert titles(visitor) == before and sorted(settings.RUNS.iterdir()) == folders


def test_duplicate_has_the_same_history_and_is_independent(visitor: Visitor) -> None:
    run = visitor.new_run(name="Original")
    with visitor.socket(run) as client:
        client.of_kind("snap")
        client.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        client.ask({"k": "time", "op": "pause"})
    visitor.post(f"/runs/{run}/duplicate")
    copy = re.findall(r'/r/([a-z0-9]+)/main">Original \(copy\)', visitor.get("/runs/").text)[0]
    first, second = (visitor.get(f"/api/runs/{slug}/main/segments/0.json").json for slug in (run, copy))
    assert first == second
    with visitor.socket(copy) as client:
        assert client.of_kind("welcome")["core"] == "recorded"
        client.of_kind("snap")
        client.ask({"k": "time", "op": "play"})
        client.run("kafka-topics.sh --create --topic other --partitions 1 --replication-factor 3")
        assert sorted(client.run("kafka-topics.sh --list")) == ["orders", "other"]
    with visitor.socket(run) as client:
        client.of_kind("snap")
        client.ask({"k": "time", "op": "play"})
        assert client.run("kafka-topics.sh --list") == ["orders"]


# Rights


def test_run_of_another_user_is_not_found(visitor: Visitor, other_visitor: Visitor) -> None:
    run = visitor.new_run(name="Mine alone")
    assert "Mine alone" not in titles(other_visitor)
    for path in (
        f"/r/{run}/main",
        f"/api/runs/{run}/main/index.json",
        f"/api/runs/{run}/main/segments/0.json",
        f"/api/runs/{run}/main/seek?seq=1",
        f"/api/runs/{run}/main/files?replica=orders-0@b1",
        f"/api/runs/{run}/main/bytes?replica=orders-0@b1&file=x",
    ):
        assert other_visitor.get(path).status == 404, path
    for path in (f"/runs/{run}/rename", f"/runs/{run}/duplicate", f"/runs/{run}/delete"):
        assert other_visitor.post(path, name="theirs", confirm="yes").status == 404, path
    assert other_visitor.post_json(f"/api/runs/{run}/main/fork", {"seq": 1}).status == 404
    assert other_visitor.post_json(f"/api/runs/{run}/main/bookmark", {"seq": 1, "name": "x"}).status == 404
    assert "Mine alone" in titles(visitor)


def test_fork_has_the_name_that_was_given_and_begins_at_the_playhead(visitor: Visitor) -> None:
    run = visitor.new_run(brokers="1")
    address = f"/api/runs/{run}/main/fork"
    with visitor.socket(run) as socket:
        snapshot = socket.of_kind("snap")
        instants = [(snapshot["seq"], snapshot["at_us"])]
        # Two events with time between.
        while not (apart := [one for one, other in pairwise(instants) if other[1] - one[1] >= 20]):
            instants += ((event[0], event[1]) for event in socket.of_kind("d")["ev"])
    seq, at_us = apart[0]
    playhead_us = at_us + 10
    answer = visitor.post_json(address, {"seq": seq, "at_us": playhead_us, "name": "link-cut"})
    assert answer.json["branch"] == "link-cut"
    with visitor.socket(run, "link-cut") as socket:
        snapshot = socket.of_kind("snap")
    assert (snapshot["seq"], snapshot["at_us"]) == (seq, playhead_us)
    for name, status in (("link-cut", 409), ("Link cut", 400), ("a" * 33, 400), ("../main", 400)):
        assert visitor.post_json(address, {"seq": 5, "name": name}).status == status, name
    assert visitor.post_json(address, {"seq": 5}).json["branch"] == "main-2"


def test_bookmark_without_a_name_gets_one_in_the_visitors_language(visitor: Visitor) -> None:
    run = visitor.new_run()
    visitor.get("/runs/?language=zh-CN")
    made = visitor.post_json(f"/api/runs/{run}/main/bookmark", {"seq": 1, "name": " "})
    assert made.json["name"] == "事件 1 处的书签"


def test_form_from_another_site_is_refused(visitor: Visitor) -> None:
    import urllib.request

    request = urllib.request.Request(visitor.server.address + "/runs/new", b"name=x&seed=1&brokers=1")
    answer = visitor._send(request)
    assert answer.status == 403
    assert "does not come from a page of this lab" in answer.text


@pytest.mark.parametrize(
    "path", ["/runs/../../etc/passwd", "/r/..%2f..%2fetc/main", "/r/archive/archive", "/r/a/..", "/x"]
)
def test_address_that_does_not_exist_gets_a_page(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)
    assert answer.status == 404
    assert "Traceback" not in answer.text and 'href="/"' in answer.text


def test_instant_that_does_not_exist_gets_a_page(visitor: Visitor) -> None:
    answer = visitor.get(f"/r/{visitor.new_run()}/main?t=99999")
    assert answer.status == 404 and "What to do" in answer.text


# What every answer carries


def test_pages_carry_a_strict_policy_with_a_nonce_of_their_own(visitor: Visitor) -> None:
    seen = set()
    for _ in range(2):
        answer = visitor.get("/runs/")
        policy = answer.headers["Content-Security-Policy"]
        nonce = re.search(r"'nonce-([^']+)'", policy)
        assert nonce
        seen.add(nonce[1])
        assert "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        scripts = re.findall(r"<script\b[^>]*>", answer.text)
        assert scripts and all(f'nonce="{nonce[1]}"' in script or "application/json" in script for script in scripts)
    assert len(seen) == 2


STYLES = r'href="(/static/[^"]+/tokens\+[^"]+\.css)"'


def test_static_files_are_cached_for_ever_under_the_build_address(visitor: Visitor) -> None:
    address = re.findall(STYLES, visitor.get("/runs/").text)[0]
    answer = visitor.get(address)
    assert answer.status == 200 and "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Type"].startswith("text/css")
    # Stylesheets of a folder come together, in their order.
    folder, _, names = address.removesuffix(".css").rpartition("/")
    assert answer.text == "".join(visitor.get(f"{folder}/{name}.css").text for name in names.split("+"))
    other_build = visitor.get(re.sub(r"/static/[^/]+/", "/static/0000000000/", address))
    assert other_build.status == 200 and other_build.headers["Cache-Control"] == "no-store"
    for path in (
        "/static/x/../../manage.py",
        "/static/x/%2e%2e/%2e%2e/manage.py",
        "/static/x/lab/nosuch.js",
        "/static/x/%00",
        "/static/x/lab/css/base/tokens+nosuch.css",
        "/static/x/lab/css/base/tokens+..%2f..%2f..%2f..%2ftests%2fdata%2fx.css",
    ):
        assert visitor.get(path).status == 404
    missing = visitor.get("/static/x/lab/nosuch.js").text
    assert "There is no static file" in missing and "run in your list" not in missing
    assert "Expected the address of a page of this lab." in visitor.get("/nosuch/").text


@pytest.mark.parametrize("kind", ["style", "texts"])
def test_scripts_and_texts_are_sent_packed_to_browsers_that_unpack(visitor: Visitor, kind: str) -> None:
    page = visitor.get("/runs/").text
    found = re.search(STYLES if kind == "style" else r'data-texts="([^"]+)"', page)
    assert found
    plain, packed = visitor.get(found[1]), visitor.get(found[1], **{"Accept-Encoding": "br, gzip;q=0.8"})
    assert "Content-Encoding" not in plain.headers and packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2


def test_choosing_a_language_leads_to_no_other_site(visitor: Visitor) -> None:
    answer = visitor.get("//evil.example/?language=en")
    assert answer.url.startswith(visitor.server.address)


def test_foreign_host_name_is_refused(visitor: Visitor) -> None:
    assert visitor.get("/runs/", Host="evil.example").status == 400
