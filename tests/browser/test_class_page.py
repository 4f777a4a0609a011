"""A class in a real browser, in four contexts: an instructor teaches two learners beside the big screen."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from lab.models import Run
from tests.support.axe import violations
from tests.support.classroom.class_browser import join, open_class_panel
from tests.support.classroom.door import clean_door, start_class
from tests.support.lab_page import PHONE, TABLET, WIDE, nothing_sticks_out
from tests.support.lab_server import LabServer

NAME = "Adaeze Okafor-Montgomery"


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The instructor, on the door page of a new class."""
    with clean_door(lab_server, monkeypatch):
        start_class(page, lab_server, "Storage systems, autumn")
        yield page


def hands_and_questions_carry_their_instant(staff: Page, ada: Page, noah: Page) -> None:
    ada.get_by_role("button", name="Raise hand").click()
    expect(ada.get_by_role("button", name="Your hand is up; position in the queue: 1")).to_be_visible()
    assert (
        ada.evaluate(
            "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('#side-panel'))"
        )
        == 0
    )
    expect(staff.locator(".tile.hand")).to_contain_text("Ada")
    noah.get_by_label("Ask a question").fill("Why does the high watermark wait?")
    noah.get_by_role("button", name="Send").click()
    question = staff.locator(".ask-list li", has_text="Why does the high watermark wait?")
    expect(question.get_by_role("link")).to_have_attribute("href", re.compile(r"/r/\w+/main\?t=\d"))
    # It opens while staff look at the lab, which the learner sees.
    board = staff.url
    question.get_by_role("link").click()
    expect(staff).to_have_url(re.compile(r"/r/\w+/main\?t=\d"))
    expect(noah.locator(".class-panel")).to_contain_text("Instructor is looking at your lab")
    expect(staff.locator("hw-looking")).to_contain_text("Noah's lab")
    staff.get_by_role("button", name="Stop looking").click()
    expect(staff).to_have_url(board)
    expect(noah.locator(".class-panel")).not_to_contain_text("is looking at your lab")
    # Others see the question, but not its author.
    asked = ada.locator(".ask-list li", has_text="Why does the high watermark wait?")
    expect(asked).not_to_contain_text("Noah")
    asked.get_by_role("button", name="Me too").click()
    expect(question).to_contain_text("+1")


def pages_follow_who_leads_and_return_to_their_own_lab(staff: Page, ada: Page, noah: Page) -> None:
    own = ada.url
    staff.get_by_role("button", name="Lead the class").click()
    expect(ada.get_by_role("button", name="Following Instructor")).to_be_visible()
    expect(staff.get_by_role("button", name="You lead · 2 follow")).to_be_visible()
    ink_stays_at_its_node(staff, ada)
    ada.keyboard.press("f")
    expect(staff.get_by_role("button", name="You lead · 1 follow")).to_be_visible()
    staff.get_by_role("button", name="You lead").click()
    expect(noah.get_by_role("button", name="Following Instructor")).to_have_count(0)
    assert ada.url.split("?")[0] == own.split("?")[0]


def ink_stays_at_its_node(staff: Page, ada: Page) -> None:
    """A stroke drawn around a broker surrounds that broker also on a page of another width."""
    leading = staff.context.new_page()
    leading.goto(staff.url.split("/classes/")[0] + f"/r/{Run.objects.get(learners__number=1).slug}/main")
    expect(leading.locator(".nodes .state.up")).to_have_count(3)
    draw = leading.get_by_role("button", name="Draw")
    expect(draw).to_be_visible()
    leading.keyboard.press("i")
    expect(draw).to_have_attribute("aria-pressed", "true")
    around = leading.locator(".hw-node.broker").first.bounding_box()
    assert around is not None
    left, top = around["x"] - 8, around["y"] - 8
    right, bottom = left + around["width"] + 16, top + around["height"] + 16
    leading.mouse.move(left, top)
    leading.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top + 6)):
        leading.mouse.move(x, y, steps=5)
    leading.mouse.up()
    stroke = ada.locator(".hw-ink polyline")
    expect(stroke).to_have_count(1)
    assert len((stroke.get_attribute("points") or "").split()) >= 4
    leading.get_by_role("button", name="Clear ink").click()
    expect(stroke).to_have_count(0)
    what_only_concerns_a_learner_does_not_end_following(staff, leading, ada)
    leading.close()


def what_only_concerns_a_learner_does_not_end_following(staff: Page, leading: Page, ada: Page) -> None:
    """Acceptance statement 11: hand, question, mark, vote, table, copy and language."""
    panel, following = ada.locator(".class-panel"), ada.locator("hw-following button[aria-pressed=true]")
    panel.get_by_role("button", name="Your hand is up").click()
    panel.get_by_role("button", name="Raise hand").click()
    expect(panel.get_by_role("button", name="Your hand is up")).to_be_visible()
    panel.get_by_label("Ask a question").fill("Why three brokers?")
    panel.get_by_role("button", name="Send").click()
    expect(panel.locator(".ask-list")).to_contain_text("Why three brokers?")
    panel.get_by_role("button", name="Mark this instant").click()
    expect(following).to_be_visible()
    open_poll(staff, "Ready?")
    panel.get_by_role("radio", name="yes").check()
    panel.get_by_role("button", name="Answer", exact=True).click()
    expect(panel).to_contain_text("Your answer: yes")
    staff.get_by_role("button", name="Close the poll").click()
    staff.get_by_role("button", name="End the poll").click()
    expect(following).to_be_visible()
    leading.locator(".cv-h .seg button", has_text="Table").click()
    ada.locator("hw-table th button", has_text="LEO").click()
    expect(ada.locator("hw-table th[aria-sort=ascending]", has_text="LEO")).to_be_visible()
    ada.locator("hw-table").get_by_role("button", name="Copy as CSV").first.click()
    expect(following).to_be_visible()
    # It is the page that changes its language; it follows again at once.
    for language, place in (("zh-CN", "课堂"), ("en", "Class")):
        ada.locator(f"[data-preference=language][data-value='{language}']").click()
        expect(ada.locator("html")).to_have_attribute("lang", language)
        expect(ada.locator("hw-table td").first).to_be_visible()
        expect(following).to_be_visible()
        ada.get_by_role("tab", name=place, exact=True).click()


def split_of_a_poll_is_shown_when_staff_show_it(staff: Page, ada: Page, noah: Page) -> None:
    staff.get_by_text("New poll").click()
    maker = staff.locator(".make-poll form")
    maker.get_by_label("Question").fill("Where does the log end?")
    maker.get_by_label("Choice 1", exact=True).fill("at 45")
    maker.get_by_label("Choice 2", exact=True).fill("at 46")
    maker.get_by_label("anonymous").uncheck()
    maker.get_by_text("Settled by the lab").click()
    maker.get_by_label("Choice 1 came true when").fill("log_end_offset(orders-0@leader) == 45")
    assert violations(staff, within="hw-poll-panel") == []
    maker.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()
    for learner, answer in ((ada, "at 45"), (noah, "at 46")):
        learner.get_by_role("radio", name=answer).check()
        learner.get_by_role("button", name="Answer", exact=True).click()
    expect(staff.locator("hw-poll-panel")).to_contain_text("2 of 2 answered")
    staff.get_by_role("button", name="Close the poll").click()
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: at 45")
    staff.get_by_role("button", name="Show the split").click()
    expect(ada.locator(".class-panel")).to_contain_text("2 answers. The split is shown from 5 answers on.")
    staff.get_by_role("button", name="Run the lab to settle it").click()
    expect(staff.locator("hw-class-refusal")).to_contain_text("no participant leads the class")
    staff.get_by_text("Set the answer by hand").click()
    staff.get_by_label("What came true").select_option("at 46")
    staff.get_by_role("button", name="Reveal").click()
    expect(noah.locator(".class-panel")).to_contain_text("Came true: at 46")
    expect(staff.get_by_text("Overrule")).to_be_visible()


def open_poll(staff: Page, question: str) -> None:
    """An anonymous poll with two choices."""
    staff.get_by_text("New poll").click()
    maker = staff.locator(".make-poll form")
    maker.get_by_label("Question").fill(question)
    maker.get_by_label("Choice 1", exact=True).fill("yes")
    maker.get_by_label("Choice 2", exact=True).fill("no")
    maker.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()


def anonymous_answer_is_shown_to_its_author(staff: Page, ada: Page) -> None:
    """It is counted later, so that its time does not reveal its author; the page keeps it over a reload."""
    open_poll(staff, "Was that clear?")
    ada.get_by_role("radio", name="yes").check()
    ada.get_by_role("button", name="Answer", exact=True).click()
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: yes")
    expect(staff.locator("hw-poll-panel")).to_contain_text("Anonymous answers are counted five at a time")
    ada.reload()
    open_class_panel(ada)
    expect(ada.locator(".class-panel")).to_contain_text("Your answer: yes")
    expect(ada.get_by_role("radio", name="yes")).to_be_checked()
    staff.get_by_role("button", name="Close the poll").click()
    expect(staff.locator("hw-poll-panel")).to_contain_text("1 of 2 answered")
    staff.get_by_role("button", name="End the poll").click()


def all_labs_pause_and_resume(staff: Page, noah: Page) -> None:
    staff.get_by_role("button", name="Pause all labs").click()
    expect(noah.locator(".class-panel")).to_contain_text("All labs are paused")
    staff.get_by_role("button", name="Resume all labs").click()
    expect(noah.locator(".class-panel")).not_to_contain_text("All labs are paused")


def staff_type_captions(staff: Page) -> None:
    typed = staff.get_by_role("textbox", name="Caption")
    typed.fill("The leader <b3> waits")
    typed.press("Enter")
    expect(staff.locator("hw-captions [role=status]")).to_contain_text("The leader <b3> waits")
    assert staff.get_by_role("button", name="Recognise on this machine").count() == 0, "this browser cannot"


def learner_sees_that_staff_look(staff: Page, noah: Page) -> None:
    staff.locator(".tile", has_text="Noah").click()
    staff.get_by_role("button", name="Look at this lab").click()
    expect(noah.locator(".class-panel")).to_contain_text("Instructor is looking at your lab")
    staff.get_by_role("button", name="Stop looking").click()
    expect(noah.locator(".class-panel")).not_to_contain_text("is looking at your lab")
    staff.get_by_role("button", name="Close", exact=True).click()


def big_screen(staff: Page, newcomer: Callable[[], Page]) -> Page:
    """How to join and how many are here, without a name."""
    page = newcomer()
    page.context.add_cookies(staff.context.cookies())  # type: ignore[arg-type]
    page.goto(staff.url.replace("/board/", "/projector/"))
    expect(page.locator("hw-projector")).to_contain_text("2 learners here")
    expect(page.locator(".qr svg")).to_be_visible()
    # It cannot be scrolled.
    expect(page.locator(".on-screen")).to_be_in_viewport(ratio=1)
    assert "Ada" not in page.content()
    return page


def other_look_on_phones(staff: Page, ada: Page) -> None:
    """A board with people, a poll and a question, and a learner's class, in the other language and theme."""
    look = "language=zh-CN&theme=light"
    staff.set_viewport_size(PHONE)
    staff.goto(f"{staff.url.split('?')[0]}?{look}")
    expect(staff.locator(".tile")).to_have_count(2)
    expect(staff.locator("hw-poll-panel .question")).to_be_visible()
    nothing_sticks_out(staff)
    assert violations(staff) == []
    ada.set_viewport_size(PHONE)
    ada.goto(f"{ada.url.split('?')[0]}?{look}")
    ada.get_by_role("tab", name="课堂").click()
    expect(ada.locator(".class-panel")).to_be_visible()
    assert violations(ada, within="hw-class-panel") == []
    staff.goto(f"{staff.url.split('?')[0]}?language=en&theme=dark")
    staff.set_viewport_size(WIDE)
    expect(staff.locator(".tile")).to_have_count(2)


def test_a_class_from_door_to_end(staff: Page, newcomer: Callable[[], Page], complaints: list[str]) -> None:
    """Acceptance statements 1 (code, name, join), 11, 13 (looks from the wall and from a question) and 25."""
    link = staff.locator(".address a").get_attribute("href") or ""
    ada, noah = newcomer(), newcomer()
    join(ada, link, "Ada")
    join(noah, link, "Noah")
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(2)
    expect(staff.locator(".tile").first.locator(".tile-picture .slot").first).to_be_visible()
    hands_and_questions_carry_their_instant(staff, ada, noah)
    pages_follow_who_leads_and_return_to_their_own_lab(staff, ada, noah)
    anonymous_answer_is_shown_to_its_author(staff, ada)
    split_of_a_poll_is_shown_when_staff_show_it(staff, ada, noah)
    all_labs_pause_and_resume(staff, noah)
    staff_type_captions(staff)
    learner_sees_that_staff_look(staff, noah)
    projector = big_screen(staff, newcomer)
    assert violations(staff) == []
    assert violations(ada, within="hw-class-panel") == []
    assert violations(projector) == []
    other_look_on_phones(staff, ada)
    for page in (ada, noah, projector):
        page.close()
    expect(staff.locator("hw-class-top")).to_contain_text("0 here · 2 away")
    assert complaints == []


def test_board_says_at_its_top_whether_the_class_is_recorded(staff: Page) -> None:
    staff.get_by_role("link", name="Open the board").click()
    top = staff.locator("hw-class-top")
    expect(top.get_by_title("Class time")).to_have_text(re.compile(r"^● recording \d+:\d\d$"))
    staff.get_by_role("button", name="Take off the record").click()
    staff.set_viewport_size(PHONE)
    expect(top.get_by_text(re.compile(r"^off the record \d+:\d\d$"))).to_be_visible()


def test_the_board_fits_its_window(staff: Page) -> None:
    """Acceptance statement 25, of the board and the projector."""
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".nobody")).to_be_visible()
    board = staff.url
    for look in ("language=en&theme=dark", "language=zh-CN&theme=light"):
        staff.goto(f"{board}?{look}")
        expect(staff.locator(".nobody")).to_be_visible()
        for size in (WIDE, TABLET, PHONE):
            staff.set_viewport_size(size)
            nothing_sticks_out(staff)
            expect(staff.locator("hw-class-top .chip:visible").first).to_be_in_viewport(ratio=1)
            # The door's page has the code, the QR code and the participants.
            expect(staff.locator("header .to-door")).to_be_in_viewport(ratio=1)
            now = staff.locator(".class-line svg svg").bounding_box()
            assert now is not None and now["width"] < 10, "the instant is a line"
            assert violations(staff) == [], (look, size)
        staff.goto(f"{board.replace('/board/', '/projector/')}?{look}")
        expect(staff.locator("hw-projector")).to_contain_text("0")
        for size in (WIDE, TABLET, PHONE):
            staff.set_viewport_size(size)
            nothing_sticks_out(staff)
            assert violations(staff) == [], (look, size)


def test_captions_are_shown_on_the_pages_of_others(
    staff: Page, newcomer: Callable[[], Page], complaints: list[str]
) -> None:
    """Captions that staff type are on a learner's page and on the big screen; each of them can turn them off."""
    ada, screen = newcomer(), newcomer()
    join(ada, staff.locator(".address a").get_attribute("href") or "", "Ada")
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(1)
    screen.context.add_cookies(staff.context.cookies())  # type: ignore[arg-type]
    screen.goto(staff.url.replace("/board/", "/projector/"))
    expect(screen.locator("hw-projector")).to_contain_text("1 learner")
    typed, shown = staff.get_by_role("textbox", name="Caption"), "hw-live-captions .caption"
    typed.fill("The leader <b3> waits")
    typed.press("Enter")
    for page in (ada, screen):
        expect(page.locator(shown)).to_have_text("The leader <b3> waits")
    choice = ada.get_by_role("group", name="Captions").and_(ada.locator("hw-live-captions *"))
    assert violations(ada, within="hw-live-captions") == []
    choice.get_by_role("button", name="CC off").click()
    expect(ada.locator(shown)).to_have_count(0)
    typed.fill("until broker 2 has it")
    typed.press("Enter")
    expect(screen.locator(shown)).to_contain_text("until broker 2 has it")
    assert ada.locator(shown).count() == 0
    ada.set_viewport_size(PHONE)
    choice.get_by_role("button", name="EN").click()
    expect(ada.locator(shown)).to_contain_text("until broker 2 has it")
    expect(ada.locator(shown)).to_be_in_viewport(ratio=1)
    nothing_sticks_out(ada)
    assert complaints == []


@pytest.fixture
def ada(staff: Page, newcomer: Callable[[], Page]) -> Page:
    """A learner with a question, in their lab, while the instructor is on the board."""
    page = newcomer()
    join(page, staff.locator(".address a").get_attribute("href") or "", NAME)
    page.get_by_label("Ask a question").fill("Why?")
    page.get_by_role("button", name="Send").click()
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".ask-list a.at")).to_be_visible()
    return page


def fork(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("b")
    page.locator("dialog .btn.pri").click()
    expect(page).to_have_url(re.compile("/main-2"))
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)


def test_a_look_fits_a_phone_and_outlives_a_fork(staff: Page, ada: Page) -> None:
    staff.locator(".ask-list a.at").click()
    looking = staff.locator("hw-looking")
    expect(looking.locator(".tag")).to_have_attribute("title", f"{NAME}'s lab")
    staff.set_viewport_size(PHONE)
    nothing_sticks_out(staff)
    expect(looking.get_by_role("button", name="Stop looking")).to_be_in_viewport(ratio=1)
    # The heading is there for a screen reader; a lab with one branch has no list of branches.
    expect(staff.get_by_role("heading", level=1)).to_have_count(1)
    expect(staff.locator("hw-branches summary")).to_be_hidden()
    fork(ada)
    newest = looking.get_by_role("link", name="Go to branch")
    expect(newest).to_have_attribute("href", ada.evaluate("location.pathname"))
    nothing_sticks_out(staff)
    expect(looking.get_by_role("button", name="Stop looking")).to_be_in_viewport(ratio=1)
    ada.set_viewport_size(PHONE)
    expect(ada.locator("hw-branches summary")).to_be_in_viewport(ratio=1)
    nothing_sticks_out(ada)
    newest.click()
    expect(looking.locator(".tag")).to_have_attribute("title", f"{NAME}'s lab")
    expect(newest).to_have_count(0)


def test_an_instant_opens_in_another_tab_and_is_text_when_its_lab_was_left(staff: Page, ada: Page) -> None:
    board = staff.url
    for button in ("left", "middle"):
        with staff.context.expect_page() as opened:
            if button == "middle":
                staff.locator(".ask-list a.at").click(button="middle")
            else:
                staff.locator(".ask-list a.at").click(modifiers=["ControlOrMeta"])
        expect(opened.value).to_have_url(re.compile(r"/r/\w+/main\?t=\d"))
        expect(opened.value.locator("hw-looking")).to_contain_text(NAME)
        assert staff.url == board
        opened.value.close()
    staff.evaluate(
        """async () => {
          const { src } = document.querySelector("script[src$='/ui/pages/classroom/board.js']");
          const { tree } = await import(src.replace("/pages/classroom/board.js", "/classroom/store.js"));
          const people = Object.entries(tree.value.people)
            .map(([p, person]) => [p, { ...person, lab: "another/main" }]);
          tree.value = { ...tree.value, people: Object.fromEntries(people) };
        }"""
    )
    expect(staff.locator(".ask-list")).to_contain_text(re.compile(r"\d s in an earlier lab"))
    expect(staff.locator(".ask-list a.at")).to_have_count(0)


def test_the_board_on_a_phone_has_no_gap_and_tab_follows_the_layout(staff: Page, ada: Page) -> None:
    names = ["hw-class-bar", "hw-poll-panel", "hw-hands", "hw-wall-bar", "hw-microphone"]
    shown = f"[...document.querySelectorAll('{', '.join(names)}')].map((one) => one.localName).join()"
    is_shown = f"(order) => {shown} === order"
    staff.set_viewport_size({"width": PHONE["width"], "height": 1600})
    staff.wait_for_function(is_shown, arg=",".join(names))
    staff.reload()
    expect(staff.locator(".tile")).to_have_count(1)
    staff.wait_for_function(is_shown, arg=",".join(names))
    nothing_sticks_out(staff)
    last, wall = staff.locator("hw-mistakes").bounding_box(), staff.locator(".board-wall").bounding_box()
    assert last and wall
    assert wall["y"] - last["y"] - last["height"] < 30
    staff.set_viewport_size(WIDE)
    staff.wait_for_function(is_shown, arg="hw-wall-bar,hw-poll-panel,hw-hands,hw-class-bar,hw-microphone")


# Answers to anonymous polls, which are stored only in the author's tab


@pytest.fixture
def voter(staff: Page, newcomer: Callable[[], Page]) -> Page:
    """A learner, in their lab, while the instructor is on the board."""
    page = newcomer()
    join(page, link_of(staff), "Ada")
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(1)
    return page


def link_of(door: Page) -> str:
    return door.locator(".address a").get_attribute("href") or ""


def open_number_poll(staff: Page) -> None:
    """An anonymous poll that asks for a number, and how sure learners are."""
    staff.get_by_text("New poll").click()
    maker = staff.locator(".make-poll form")
    maker.locator("[name=form]").select_option("number")
    maker.get_by_label("Question").fill("Where does the log end?")
    maker.locator("[name=sure]").check()
    maker.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()


def answer(page: Page, text: str) -> None:
    page.locator("[name=answer]").fill(text)
    page.locator(".class-panel .card form button").click()


def test_the_next_participant_in_a_tab_does_not_see_the_answer(staff: Page, voter: Page) -> None:
    link = staff.evaluate(
        "async (url) => new DOMParser().parseFromString(await (await fetch(url)).text(), 'text/html')"
        ".querySelector('.address a').href",
        staff.url.replace("board/", ""),
    )
    open_number_poll(staff)
    answer(voter, "45")
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    kept = voter.evaluate("JSON.stringify({ ...sessionStorage })")
    assert "highwater.vote." in kept
    voter.context.clear_cookies()
    join(voter, link, "Mei")
    expect(voter.locator("[name=answer]")).to_be_visible()
    expect(voter.locator(".class-panel")).not_to_contain_text("Your answer:")
    # Nor if it is still stored in the tab, because it is of another participant.
    voter.evaluate(
        "(kept) => Object.entries(JSON.parse(kept)).forEach(([key, value]) => sessionStorage.setItem(key, value))", kept
    )
    voter.reload()
    open_class_panel(voter)
    expect(voter.locator("[name=answer]")).to_be_visible()
    expect(voter.locator(".class-panel")).not_to_contain_text("Your answer:")


def test_a_refused_answer_keeps_the_previous_one_until_the_participant_leaves(staff: Page, voter: Page) -> None:
    open_number_poll(staff)
    sure = voter.locator("[name=sure]")
    expect(sure).to_have_attribute("aria-valuetext", "50 %")
    expect(voter.get_by_role("slider", name="How sure are you?", exact=True)).to_have_count(1)
    sure.fill("80")
    expect(sure.locator("xpath=..").locator(".mono")).to_have_text("80 %")
    expect(sure).to_have_attribute("aria-valuetext", "80 %")
    answer(voter, "45")
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    voter.reload()
    open_class_panel(voter)
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    expect(sure).to_have_value("80")
    expect(sure).to_have_attribute("aria-valuetext", "80 %")
    answer(voter, "at the end")
    expect(voter.locator("hw-class-refusal")).not_to_be_empty()
    expect(voter.locator(".class-panel")).to_contain_text("Your answer: 45")
    voter.goto(staff.url.replace("board/", ""))
    assert "highwater.vote." in voter.evaluate("Object.keys(sessionStorage).join()")
    with voter.expect_navigation():
        voter.locator("form[action$='/leave'] button").click()
    assert "highwater.vote." not in voter.evaluate("Object.keys(sessionStorage).join()")
