"""A learner's lab on stage: the invitation, whom the pages of others follow, and what they return to."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from lab.actions.classes import hand_out
from lab.models import Run
from lab.texts.refusal import Refusal
from tests.support.axe import violations
from tests.support.classroom.class_browser import join
from tests.support.lab_page import PHONE, TABLET, WIDE, Line, nothing_sticks_out


@pytest.fixture
def learners(staff: Page, newcomer: Callable[[], Page]) -> tuple[Page, Page]:
    """Ada and Noah in their labs, while the instructor is on the board."""
    link = staff.locator(".address a").get_attribute("href") or ""
    pages = newcomer(), newcomer()
    for page, name in zip(pages, ("Ada", "Noah"), strict=True):
        join(page, link, name)
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(2)
    return pages


def invite(staff: Page, ada: Page) -> None:
    """Ada is on another tab of the side panel; the invitation brings her to that of the class."""
    ada.get_by_role("tab", name="Act").click()
    staff.locator(".tile", has_text="Ada").click()
    staff.get_by_role("button", name="Invite to the stage").click()
    expect(staff.locator("hw-person dialog")).to_contain_text("Ada has been invited to the stage")
    expect(ada.locator(".asked")).to_contain_text("You are asked to show your lab to the class")
    assert staff.locator(".tile.shown").count() == 0


def lab_of(number: int) -> str:
    return f"{Run.objects.get(learners__number=number).slug}/main"


def following(page: Page, name: str) -> None:
    expect(page.locator("hw-unavailable")).to_contain_text(f"You are following {name}.")


def on_their_own(page: Page) -> None:
    expect(page.locator("hw-unavailable")).to_be_empty()


def test_the_class_follows_the_lab_on_stage(staff: Page, learners: tuple[Page, Page]) -> None:
    """Acceptance statement 13: who is on stage sees it."""
    ada, noah = learners
    invite(staff, ada)
    ada.locator(".asked").get_by_label("with my name").check()
    ada.get_by_role("button", name="Show my lab").click()
    following(noah, "Ada")
    # The learner sees it on every tab, and works on as before.
    expect(ada.locator("hw-shown-mark")).to_contain_text("Your lab is on the stage")
    on_their_own(ada)
    ada.locator(".cv-h .seg button", has_text="ZooKeeper").click()
    expect(noah.locator("hw-zookeeper")).to_be_visible()
    # A page that is loaded again follows at once, although nothing changes on stage.
    noah.reload()
    following(noah, "Ada")
    expect(noah.locator("hw-zookeeper")).to_be_visible()
    # A presenter does not take the class away from the stage.
    staff.keyboard.press("Escape")
    staff.get_by_role("button", name="Lead the class").click()
    expect(staff.get_by_role("button", name="You lead · 1 follow")).to_be_visible()
    following(noah, "Ada")
    assert violations(ada, within="header") == []
    leave = ada.locator("hw-shown-mark").get_by_role("button", name="Leave the stage")
    for size in (TABLET, PHONE, WIDE):
        ada.set_viewport_size(size)
        nothing_sticks_out(ada)
        expect(leave).to_be_in_viewport(ratio=1)
    leave.click()
    following(noah, "Instructor")
    following(ada, "Instructor")
    expect(staff.get_by_role("button", name="You lead · 2 follow")).to_be_visible()
    staff.get_by_role("button", name="You lead").click()
    on_their_own(noah)
    on_their_own(ada)


def test_who_works_alone_is_left_alone_names_stay_private_and_a_look_does_not_take_the_class_along(
    staff: Page, learners: tuple[Page, Page]
) -> None:
    ada, noah = learners
    staff.get_by_role("button", name="Lead the class").click()
    following(noah, "Instructor")
    noah.locator("hw-unavailable").get_by_role("button", name="Return to my lab").click()
    on_their_own(noah)
    invite(staff, ada)
    ada.get_by_role("button", name="Show my lab").click()
    expect(noah.get_by_role("button", name="a learner is presenting")).to_be_visible()
    on_their_own(noah)
    noah.keyboard.press("f")
    following(noah, "a learner")
    assert "Ada" not in noah.content()
    staff.locator("hw-person").get_by_role("button", name="Take Ada off the stage").click()
    following(noah, "Instructor")
    # The presenter looks into a lab.
    staff.get_by_role("button", name="Look at this lab").click()
    expect(ada.locator("hw-shown-mark")).to_contain_text("is looking at your lab")
    staff.get_by_role("link", name="Open the lab").click()
    expect(staff.locator("hw-looking")).to_contain_text("Ada's lab")
    staff.locator(".cv-h .seg button", has_text="ZooKeeper").click()
    expect(staff.locator("hw-zookeeper")).to_be_visible()
    back = staff.context.new_page()
    back.goto(f"{staff.url.split('/r/')[0]}/r/{lab_of(1)}")
    back.locator(".cv-h .seg button", has_text="Groups").click()
    expect(noah.locator(".cv-h .seg button", has_text="Groups")).to_have_attribute("aria-pressed", "true")
    following(noah, "Instructor")
    assert noah.locator(".message.warn, .message.bad").count() == 0


def test_a_state_is_announced_and_opened_with_one_press(staff: Page, learners: tuple[Page, Page]) -> None:
    _, noah = learners
    noah.get_by_role("tab", name="Act").click()
    staff.get_by_role("button", name="Lead the class").click()
    following(noah, "Instructor")
    staff.get_by_role("button", name="Share this state with all").click()
    expect(noah.locator(".messages")).to_contain_text("The instructor has shared a state of their lab.")
    noah.get_by_role("tab", name="Class").click()
    expect(noah.locator(".state-list")).to_contain_text("State 1, at")
    before = noah.url.split("?")[0]
    noah.get_by_role("button", name="Continue from it").click()
    expect(noah).not_to_have_url(re.compile(re.escape(before)))
    expect(noah.locator(".hw-node.broker.up")).to_have_count(3)
    # It is for work alone: the page shows it, and not the presenter.
    noah.get_by_role("tab", name="Class").click()
    expect(noah.locator(".state-list")).to_contain_text("shown here")
    expect(noah.get_by_role("button", name="Instructor is presenting")).to_have_attribute("aria-pressed", "false")


def test_who_takes_a_state_while_held_works_alone_in_it_afterwards(staff: Page, learners: tuple[Page, Page]) -> None:
    ada, noah = learners
    staff.get_by_role("button", name="Lead the class").click()
    following(noah, "Instructor")
    staff.get_by_role("button", name="Share this state with all").click()
    staff.get_by_role("button", name="Hold everyone").click()
    held = noah.locator("hw-unavailable", has_text="asks for your attention")
    expect(held).to_be_visible()
    before = noah.url.split("?")[0]
    noah.get_by_role("button", name="Continue from it").click()
    expect(noah).not_to_have_url(re.compile(re.escape(before)))
    expect(held).to_be_visible()
    staff.get_by_role("button", name=re.compile("^Release")).click()
    on_their_own(noah)
    following(ada, "Instructor")


def test_a_learner_who_is_refused_a_state_goes_on_following(
    staff: Page, learners: tuple[Page, Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise Refusal("class_act.no_handout", 404, number=1)

    _, noah = learners
    staff.get_by_role("button", name="Lead the class").click()
    following(noah, "Instructor")
    staff.get_by_role("button", name="Share this state with all").click()
    take = noah.get_by_role("button", name="Continue from it")
    monkeypatch.setattr(hand_out, "take_state", refuse)
    take.click()
    expect(noah.locator("hw-class-refusal")).not_to_be_empty()
    following(noah, "Instructor")
    staff.get_by_role("button", name="Hold everyone").click()
    expect(noah.locator("hw-unavailable", has_text="asks for your attention")).to_be_visible()
    take.click()
    expect(take).to_be_enabled()
    staff.get_by_role("button", name=re.compile("^Release")).click()
    expect(noah.locator("hw-unavailable", has_text="asks for your attention")).to_have_count(0)
    following(noah, "Instructor")
    assert noah.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('alone'))") == []


def test_the_board_and_the_big_screen_show_the_newest_code(staff: Page, newcomer: Callable[[], Page]) -> None:
    """Also one that was renewed while the screen was not connected."""
    door = staff.context.new_page()
    door.goto(staff.url)
    screen = newcomer()
    screen.context.add_cookies(staff.context.cookies())  # type: ignore[arg-type]
    line = Line(screen, "/ws/classes/")
    screen.goto(f"{staff.url}projector/")
    staff.get_by_role("link", name="Open the board").click()
    expect(screen.locator("hw-projector")).to_contain_text("0 learners here")
    expect(staff.get_by_role("button", name="Close the door")).to_be_visible()
    before = door.locator(".big-code").inner_text()
    door.get_by_role("button", name="New code").click()
    expect(door.locator(".big-code")).not_to_have_text(before)
    code = door.locator(".big-code").inner_text()
    expect(staff.locator(".class-code")).to_have_text(code)
    expect(screen.locator(".join .huge")).to_have_text(code)
    line.go_down()
    door.get_by_role("button", name="New code").click()
    expect(door.locator(".big-code")).not_to_have_text(code)
    line.come_back()
    expect(screen.locator(".join .huge")).to_have_text(door.locator(".big-code").inner_text())
    # What was chosen on the door's page holds when the board opens the door.
    door.locator("[value=admits]").click()
    expect(door.locator("[value=admits-not]")).to_be_visible()
    staff.get_by_role("button", name="Close the door").click()
    expect(staff.locator(".class-code")).to_have_count(0)
    expect(screen.locator(".join")).to_have_count(0)
    staff.get_by_role("button", name="Open the door").click()
    expect(staff.locator(".class-code")).to_have_text(re.compile(r"\w+-\d{3}"))
    door.reload()
    expect(door.locator("[value=admits-not]")).to_be_visible()


def test_the_class_sees_at_once_what_a_learner_looks_at_who_goes_on_stage(
    staff: Page, learners: tuple[Page, Page]
) -> None:
    """Her page has sent its view already, to the instructor who looks at her lab."""
    ada, noah = learners
    ada.locator(".cv-h .seg button", has_text="ZooKeeper").click()
    staff.locator(".tile", has_text="Ada").click()
    staff.get_by_role("button", name="Look at this lab").click()
    expect(ada.locator("hw-shown-mark")).to_contain_text("is looking at your lab")
    staff.get_by_role("button", name="Invite to the stage").click()
    ada.get_by_role("button", name="Show my lab").click()
    following(noah, "a learner")
    expect(noah.locator("hw-zookeeper")).to_be_visible()


HEARD = """() => {
  window.heard = [];
  const region = document.querySelector("hw-messages [aria-live=polite]");
  const options = { childList: true, characterData: true, subtree: true };
  new MutationObserver(() => window.heard.push(region.textContent)).observe(region, options);
}"""


def test_an_invitation_takes_nothing_away_that_is_being_written_and_is_not_repeated_a_third_time(
    staff: Page, learners: tuple[Page, Page]
) -> None:
    ada, noah = learners
    ada.get_by_role("tab", name="Act").click()
    ada.evaluate(HEARD)
    staff.locator(".tile", has_text="Ada").click()
    staff.get_by_label("Note to Ada").fill("Look at the ISR.")
    staff.get_by_role("button", name="Send").click()
    expect(ada.locator(".messages")).to_contain_text("You have a new note.")
    name = ada.locator("#side-panel input[type=text], #side-panel input:not([type])").first
    name.fill("pay")
    staff.get_by_role("button", name="Invite to the stage").click()
    expect(ada.locator(".messages")).to_contain_text("There is something new in the class.")
    ada.keyboard.type("ments")
    expect(name).to_have_value("payments")
    assert ada.evaluate("heard.filter((text) => text.includes('note'))") == [], "the message says it"
    name.blur()
    expect(ada.locator(".asked")).to_contain_text("You are asked to show your lab to the class")
    decline(staff, ada, "Declined the stage once")
    invite(staff, ada)
    decline(staff, ada, "Declined the stage 2 times")
    staff.locator(".tile", has_text="Ada").click()
    expect(staff.get_by_role("button", name="Invite to the stage")).to_be_disabled()
    assert noah.locator("hw-following button").count() == 0


def decline(staff: Page, ada: Page, said: str) -> None:
    ada.locator(".asked").get_by_role("button", name="No").click()
    expect(staff.locator("hw-person dialog")).to_contain_text(said)
    staff.keyboard.press("Escape")
