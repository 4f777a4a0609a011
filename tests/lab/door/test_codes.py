"""Class codes and keys, how often they may be tried, and nicknames."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.classroom.codes import (
    CODES,
    SIGNS,
    draw_code,
    draw_key,
    draw_link_key,
    key_hash,
    parsed_code,
    parsed_key,
    shown_code,
    shown_digits,
    shown_key,
    words,
)
from lab.classroom.limits import BROWSER_TRIES, SERVER_TRIES, KeyTries, Try, WrongCodes, network_of
from lab.classroom.names import checked_nickname, free_nickname, offered_nickname, skeleton_of
from lab.models import MAX_NICKNAME_LENGTH
from lab.texts.refusal import Refusal

# Codes


def test_there_are_1_296_words_of_latin_capitals_and_1_166_400_codes() -> None:
    """Acceptance statement 3."""
    assert len(set(words())) == len(words()) == 1_296
    assert all(re.fullmatch("[A-Z]{3,7}", word) for word in words())
    assert CODES == 1_166_400


@given(st.integers(0, CODES - 1))
def test_both_forms_of_a_code_are_read_back(code: int) -> None:
    word, digits = shown_code(code), shown_digits(code)
    assert re.fullmatch(r"[A-Z]+-[1-9]\d\d", word) and re.fullmatch(r"\d{4} [1-9]\d\d", digits)
    for typed in (word, word.lower(), word.replace("-", " "), word.replace("-", ""), digits, digits.replace(" ", "")):
        assert parsed_code(typed) == code
    wide = "".join(chr(ord(sign) + 0xFEE0) for sign in word)
    assert parsed_code(f"  {wide} ") == code


@pytest.mark.parametrize(
    "typed",
    ["", "KITE", "427", "KITE-099", "KITE-4271", "NOWORD-427", "1296427", "0613099", "x" * 65, "KITE‮-427x", "<b>"],
)
def test_invalid_code_is_not_parsed(typed: str) -> None:
    assert parsed_code(typed) is None


def test_a_code_that_is_taken_is_not_drawn() -> None:
    drawn = iter([True, True, False])
    assert 0 <= draw_code(lambda code: next(drawn)) < CODES


def test_keys_have_five_bits_per_character_and_accept_similar_characters() -> None:
    key = draw_key(10)
    assert len(SIGNS) == 32 and set(key) <= set(SIGNS)
    assert parsed_key(shown_key(key).lower(), 10) == key
    assert parsed_key("oil0o-il0ab", 10) == "01100110AB"
    assert parsed_key("U" * 10, 10) is None and parsed_key(key, 8) is None and parsed_key("0" * 99, 10) is None
    assert len(draw_link_key()) == 22


def test_a_key_of_one_class_has_another_hash_in_another() -> None:
    assert key_hash("return", "a", "K") != key_hash("return", "b", "K") != key_hash("pass", "b", "K")


# Limits: the clock is an argument


def wrong(limits: WrongCodes, now_s: float, browser: str = "b", address: str = "10.0.0.1") -> float:
    """Tries a wrong code; returns how long to wait, 0 where it was looked up."""
    tried = limits.begin(browser, address, now_s)
    return tried if isinstance(tried, float) else 0.0


def test_a_browser_has_five_tries_and_then_pauses_that_double_up_to_ten_minutes() -> None:
    limits, now_s = WrongCodes(), 1000.0
    assert [wrong(limits, now_s) for _ in range(BROWSER_TRIES)] == [0.0] * 5
    pauses = []
    for _ in range(7):
        pauses.append(wrong(limits, now_s))
        now_s += pauses[-1]
        assert wrong(limits, now_s) == 0
    assert pauses == [30, 60, 120, 240, 480, 600, 600]


def test_right_codes_are_not_counted() -> None:
    limits = WrongCodes()
    for _ in range(1_000):
        tried = limits.begin("b", "10.0.0.1", 5.0)
        assert isinstance(tried, Try)
        limits.was_right(tried)
    assert not limits.is_attack(5.0)


def test_an_address_has_sixty_tries_a_minute_over_all_its_browsers() -> None:
    limits = WrongCodes()
    assert sum(wrong(limits, 1.0 + n / 1000, f"b{n}") == 0 for n in range(100)) == 60
    assert wrong(limits, 2.0, "fresh", "10.0.0.2") == 0
    assert 0 < wrong(limits, 3.0, "fresh2") <= 60
    assert wrong(limits, 62.0, "fresh3") == 0


def test_10_000_wrong_codes_a_minute_are_looked_up_at_most_300_times() -> None:
    """Acceptance statement 3, with the chance of who guesses."""
    limits = WrongCodes()
    looked_up = sum(wrong(limits, n * 60 / 10_000, f"b{n}", f"2001:db8:{n:x}::1") == 0 for n in range(10_000))
    assert looked_up == SERVER_TRIES
    assert limits.is_attack(60.0) and not limits.is_attack(121.0)
    # Fifteen minutes of it: 0.4 % to hit one class.
    assert SERVER_TRIES * 15 / CODES < 0.004


def test_an_address_of_ipv6_is_its_64_and_ipv4_in_ipv6_is_ipv4() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") == "10.0.0.1"
    assert network_of("fe80::1%eth0") == "fe80::/64" and network_of("") == network_of("testclient") == "unknown"


def test_return_keys_have_five_tries_in_ten_minutes() -> None:
    tries = KeyTries()
    assert [tries.begin("c", "b", "10.0.0.1", 1.0) for _ in range(5)] == [0.0] * 5
    assert tries.begin("c", "b", "10.0.0.1", 2.0) == 599
    assert tries.begin("other class", "b", "10.0.0.1", 2.0) == 0
    assert tries.begin("c", "b", "10.0.0.1", 601.0) == 0


# Nicknames


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("Ada", "Ada"), ("  Ada   Lovelace ", "Ada Lovelace"), ("Ａｄａ", "Ada"), ("张伟", "张伟"), ("José", "José"),
     ("<b>x</b>", "<b>x</b>"), ("नेहा", "नेहा")],
)  # fmt: skip
def test_nicknames_are_normalised(typed: str, kept: str) -> None:
    assert checked_nickname(typed) == kept


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "missing"), ("   ", "missing"), ("---", "missing"), ("x" * 25, "too_long"), ("x" * 10_000, "too_long"),
        ("A‮adA", "hidden_signs"), ("A​da", "hidden_signs"), ("A\nB", "hidden_signs"), ("A\x00", "hidden_signs"),
        ("⁦Ada⁩", "hidden_signs"), ("A\ufeffda", "hidden_signs"), ("ㅤ", "hidden_signs"), ("\ud800", "hidden_signs"),
        ("A" + "́" * 8, "marks"), ("p7", "is_number"), ("Р12", "is_number"), ("P l0", "is_number"),
    ],
)  # fmt: skip
def test_nicknames_that_deceive_are_refused(typed: str, why: str) -> None:
    with pytest.raises(Refusal) as refused:
        checked_nickname(typed)
    assert refused.value.id == f"refusal.nickname_{why}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada", "ada"),
        ("Ada", "Аdа"),
        ("Ian", "lan"),
        ("Tom", "Torn"),
        ("Bob", "B0b"),
        ("Li Wei", "LiWei"),
        ("ΑΝΝΑ", "anna"),
    ],
)
def test_names_that_look_alike_are_one(one: str, other: str) -> None:
    assert skeleton_of(one) == skeleton_of(other)
    assert free_nickname(other, [skeleton_of(one)]) == f"{other} 2"


def test_names_that_differ_stay_different() -> None:
    names = ["Ada", "Eda", "Adá", "张伟", "张微", "Noah", "Nora", "Omar", "Oskar", "Mila", "Mina"]
    assert len({skeleton_of(name) for name in names}) == len(names)


@given(st.text(max_size=30))
def test_normalised_nickname_is_unchanged(typed: str) -> None:
    try:
        kept = checked_nickname(typed)
    except Refusal:
        return
    assert checked_nickname(kept) == kept and 1 <= len(kept) <= MAX_NICKNAME_LENGTH


def test_a_thousand_offered_names_are_allowed_and_different_in_both_languages() -> None:
    for language in ("en", "zh-CN"):
        taken: set[str] = set()
        for _ in range(1_000):
            name = offered_nickname(language, taken)
            assert checked_nickname(name) == name
            assert skeleton_of(name) not in taken
            taken.add(skeleton_of(name))


def test_long_names_are_truncated_for_their_number() -> None:
    name = "x" * 24
    assert free_nickname(name, [skeleton_of(name)]) == "x" * 22 + " 2"
