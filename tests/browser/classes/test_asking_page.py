"""What a class asks about the picture: a poll that is answered with a thing of it, and a question with its instant."""

import re

from playwright.sync_api import Page, expect

from lab.models import Run
from tests.support.axe import violations
from tests.support.classroom.class_browser import open_class_panel
from tests.support.lab_page import PHONE, WIDE, nothing_sticks_out

LEADER = "broker 2"


def follows(staff: Page, ada: Page) -> None:
    staff.get_by_role("button", name="Lead the class").click()
    expect(ada.locator("hw-unavailable")).to_contain_text("You are following Instructor.")


def keys_of(page: Page) -> list[bool]:
    """Whether the list of keys has those of questions, of the hand and of the presenter."""
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("find")
    told = dialog.inner_text()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    return [text in told for text in ("ask about this instant", "lower your hand", "draw on the picture")]


def prepare(within: Page, question: str) -> None:
    within.get_by_text("New poll").click()
    maker = within.locator(".make-poll form")
    maker.locator("[name=form]").select_option("point")
    maker.get_by_label("Question").fill(question)
    maker.get_by_label("anonymous").uncheck()
    maker.get_by_label("ask for confidence").uncheck()


def test_a_poll_is_answered_with_a_thing_of_the_picture_or_from_a_list_of_the_same_things(
    staff: Page, ada: Page, complaints: list[str]
) -> None:
    follows(staff, ada)
    prepare(staff, "Which broker is the controller?")
    right = staff.locator("hw-thing-field select")
    # The board has the things of the labs of its tiles.
    right.select_option(label=LEADER)
    assert violations(staff, within="hw-poll-panel") == []
    staff.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()
    field, panel = ada.locator("hw-thing-field"), ada.locator(".class-panel")
    listed = field.locator("option").evaluate_all("(all) => all.map((one) => one.value).filter(Boolean)")
    assert {"broker:b1", "broker:b2", "broker:b3", "link:b1|b3", "znode:/"} <= set(listed)
    answer = panel.get_by_role("button", name="Answer", exact=True)
    answer.click()
    expect(panel).not_to_contain_text("Your answer:")
    # Picked in the picture, which selects nothing and does not end following.
    field.get_by_role("button", name="Choose it in the picture").click()
    ada.locator(".hw-node.broker", has_text="broker 3").click()
    expect(field.locator("select")).to_have_value("broker:b3")
    expect(field.locator("select")).to_be_focused()
    expect(ada.locator(".hw-node.hw-selected")).to_have_count(0)
    answer.click()
    expect(panel).to_contain_text("Your answer: broker 3")
    expect(ada.locator("hw-unavailable")).to_contain_text("You are following Instructor.")
    # With the keyboard, and from the list.
    field.get_by_role("button", name="Choose it in the picture").click()
    ada.locator(".hw-node.broker", has_text="broker 1").focus()
    ada.keyboard.press("Enter")
    expect(field.locator("select")).to_have_value("broker:b1")
    field.locator("select").select_option(label=LEADER)
    panel.get_by_role("button", name="Change the answer").click()
    expect(panel).to_contain_text(f"Your answer: {LEADER}")
    assert violations(ada, within="hw-class-panel") == []
    ada.set_viewport_size(PHONE)
    nothing_sticks_out(ada)
    field.get_by_role("button", name="Choose it in the picture").click()
    expect(ada.locator("#stage")).to_be_in_viewport()
    field.get_by_role("button", name="Stop choosing").dispatch_event("click")
    ada.set_viewport_size(WIDE)
    staff.get_by_role("button", name="Close the poll").click()
    outcome = staff.locator(".reveal hw-thing-field select")
    expect(outcome).to_have_value("broker:b2")
    staff.get_by_role("button", name="Reveal").click()
    expect(panel).to_contain_text(f"Came true: {LEADER}")
    assert complaints == []


def test_an_answer_that_no_tile_has_is_revealed_in_a_lab(staff: Page, ada: Page) -> None:
    follows(staff, ada)
    prepare(staff, "What is lost first?")
    staff.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()
    ada.locator("hw-thing-field select").select_option("link:b1|b3")
    ada.get_by_role("button", name="Answer", exact=True).click()
    staff.get_by_role("button", name="Close the poll").click()
    expect(staff.locator(".reveal hw-thing-field")).to_be_visible()
    expect(staff.locator(".reveal hw-thing-field option[value='link:b1|b2']")).to_have_count(0)
    with staff.expect_popup() as opened:
        staff.get_by_role("link", name="Choose another element in a lab").click()
    lab = opened.value
    lab.set_viewport_size(WIDE)
    open_class_panel(lab)
    lab.locator(".reveal hw-thing-field select").select_option("link:b1|b2")
    assert lab.get_by_role("link", name="Choose another element in a lab").count() == 0
    lab.get_by_role("button", name="Reveal").click()
    expect(ada.locator(".class-panel")).to_contain_text("Came true: broker 1 – broker 2")
    expect(staff.locator("hw-poll-panel")).to_contain_text("Came true: broker 1 – broker 2")


def test_staff_make_a_poll_in_their_lab_and_pick_the_right_answer_there(staff: Page, ada: Page) -> None:
    lab = staff.context.new_page()
    lab.set_viewport_size(WIDE)
    lab.goto(staff.url.split("/classes/")[0] + f"/r/{Run.objects.get(learners__number=1).slug}/main")
    open_class_panel(lab)
    prepare(lab, "Where do clients wait?")
    lab.get_by_role("button", name="Choose it in the picture").click()
    lab.locator(".hw-node.broker", has_text="broker 3").click()
    expect(lab.locator("hw-thing-field select")).to_have_value("broker:b3")
    assert violations(lab, within="hw-class-panel") == []
    lab.get_by_role("button", name="Prepare the poll").click()
    lab.get_by_role("button", name="Open the poll").click()
    ada.locator("hw-thing-field select").select_option(label="broker 3")
    ada.get_by_role("button", name="Answer", exact=True).click()
    expect(lab.locator("hw-poll-panel")).to_contain_text("1 of 1 answered")
    assert ada.locator("hw-poll-panel").count() == 0
    assert keys_of(lab) == [False, False, True]
    assert keys_of(ada) == [True, True, False]


def test_a_pick_ends_with_escape_with_another_screen_and_with_another_pick(staff: Page, ada: Page) -> None:
    prepare(staff, "Which broker?")
    staff.get_by_role("button", name="Prepare the poll").click()
    staff.get_by_role("button", name="Open the poll").click()
    lab, pick = ada.locator("#lab"), ada.get_by_role("button", name="Choose it in the picture")
    broker = ada.locator(".hw-node.broker", has_text="broker 3")
    select = ada.locator("hw-thing-field select")
    pick.click()
    expect(lab).to_have_class(re.compile(r"\bpicking\b"))
    ada.keyboard.press("Escape")
    expect(lab).not_to_have_class(re.compile(r"\bpicking\b"))
    pick.click()
    ada.keyboard.press("g")
    expect(lab).not_to_have_class(re.compile(r"\bpicking\b"))
    ada.keyboard.press("g")
    pick.click()
    # A second field takes the pick over.
    ada.evaluate("document.querySelector('hw-class-panel').append(document.createElement('hw-thing-field'))")
    pick.click()
    expect(pick).to_have_count(1)
    broker.click()
    expect(select.last).to_have_value("broker:b3")
    expect(select.first).to_have_value("")
    expect(pick).to_have_count(2)
    expect(lab).not_to_have_class(re.compile(r"\bpicking\b"))
    # Afterwards it selects again.
    broker.click()
    expect(ada.locator(".hw-node.hw-selected")).to_have_count(1)


def test_an_observer_asks_and_sets_marks_and_has_no_hand(staff: Page, ada: Page) -> None:
    staff.get_by_role("button", name="Lead the class").click()
    staff.locator(".tile").click()
    staff.locator("hw-person select").last.select_option("observer")
    expect(staff.locator(".tile")).to_have_count(0)
    ada.goto(staff.url.replace("/board/", "/watch/"))
    open_class_panel(ada)
    panel = ada.locator(".class-panel")
    expect(panel.get_by_role("button", name="Mark this instant")).to_be_visible()
    assert panel.get_by_role("button", name="Raise hand").count() == 0
    ada.get_by_role("tab", name="Inspect").click()
    ada.keyboard.press("q")
    question = ada.locator("#class-question")
    expect(question).to_be_focused()
    ada.keyboard.type("Why does it wait?")
    panel.get_by_role("button", name="Send").click()
    expect(question).to_have_value("")
    panel.get_by_role("button", name="Mark this instant").click()
    expect(staff.locator(".ask-list")).to_contain_text("Why does it wait?")
    expect(ada.locator("hw-class-refusal")).to_be_empty()
    assert violations(ada, within="hw-class-panel") == []
    ada.get_by_role("tab", name="Inspect").click()
    assert keys_of(ada) == [True, False, False]


def test_q_asks_with_the_instant_at_which_it_was_pressed(staff: Page, ada: Page) -> None:
    ada.get_by_role("tab", name="Act").click()
    ada.keyboard.press("q")
    question = ada.locator("#class-question")
    expect(question).to_be_focused()
    pressed = ada.locator(".class-panel form.note small").inner_text()
    assert re.fullmatch(r"Your question includes the instant \d+\.\d{3} s\.", pressed)
    ada.keyboard.type("Why q?")
    expect(question).to_have_value("Why q?")
    # Time goes on meanwhile.
    ada.keyboard.press("Escape")
    asked_at = pressed.removeprefix("Your question includes the instant ").removesuffix(" s.")
    clock = ada.locator("hw-transport .clock")
    ada.locator(".tbtn .play").dispatch_event("click")
    expect(clock).not_to_contain_text(asked_at)
    ada.get_by_role("button", name="Send").click()
    expect(staff.locator(".ask-list li a.at")).to_contain_text(f"{asked_at} s")
    expect(ada.locator(".class-panel form.note small")).to_have_text(
        "Your question includes the instant that you are looking at."
    )
    ada.keyboard.press("?")
    expect(ada.get_by_role("dialog")).to_contain_text("ask about this instant")
    # The instant is dropped with a question that was not begun, or by the button.
    ada.keyboard.press("Escape")
    note, own = ada.locator(".class-panel form.note small"), re.compile("that you are looking at")
    ada.keyboard.press("q")
    expect(note).to_contain_text("includes the instant ")
    expect(note).not_to_have_text(own)
    expect(question).to_be_focused()
    ada.keyboard.press("Escape")
    expect(note).to_have_text(own)
    ada.keyboard.press("q")
    expect(question).to_be_focused()
    ada.keyboard.type("Why")
    ada.keyboard.press("Escape")
    expect(note).not_to_have_text(own)
    ada.get_by_role("button", name="Use the current instant").click()
    expect(note).to_have_text(own)
    expect(question).to_have_value("Why")
