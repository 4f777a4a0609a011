"""The codes of a class: `KITE-427`, the same in seven digits, the key of the link, and the keys of participants.

A class code is a number below 1,166,400 (1,296 words times 900): 20.2 bits, short enough to be read aloud, and safe
only X
"""

import re
import secrets
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.utils.crypto import salted_hmac

WORDS_FILE = Path(__file__).parent / "words.txt"
MIN_DIGITS, MAX_DIGITS = 100, 999
_PER_WORD = MAX_DIGITS - MIN_DIGITS + 1
WORD_COUNT = 1_296
CODES = WORD_COUNT * _PER_WORD
LINK_KEY_BYTES = 16
MAX_TYPED_LENGTH = 64
"""The length of a code or key with the signs between its parts; more is not read."""

SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
RETURN_KEY_SIGNS = 10
PASS_SIGNS = 8
_ALIKE = str.maketrans("ILO", "110")


@cache
def words() -> tuple[str, ...]:
    """The words of the codes, in the order of their numbers."""
    return tuple(WORDS_FILE.read_text(encoding="utf-8").split())


@cache
def _numbers() -> dict[str, int]:
    return {word: number for number, word in enumerate(words())}


def draw_code(is_taken: Callable[[int], bool]) -> int:
    """A code that no open class uses."""
    while True:
        code = secrets.randbelow(CODES)
        if not is_taken(code):
            return code


def draw_link_key() -> str:
    """A random key of 128 bits for the address of a class."""
    return secrets.token_urlsafe(LINK_KEY_BYTES)


def shown_code(code: int) -> str:
    """`KITE-427`."""
    word, digits = divmod(code, _PER_WORD)
    return f"{words()[word]}-{digits + MIN_DIGITS}"


def shown_digits(code: int) -> str:
    """The same code in seven digits, `0613 427`, for keyboards without Latin letters."""
    word, digits = divmod(code, _PER_WORD)
    return f"{word:04} {digits + MIN_DIGITS}"


def parsed_code(typed: str) -> int | None:
    """The code typed in either form; None if it is not valid. Case, spaces, dashes and full-width forms do not
    matter.
    """
    if len(typed) > MAX_TYPED_LENGTH:
        return None
    plain = "".join(sign for sign in unicodedata.normalize("NFKC", typed).upper() if sign.isalnum())
    found = re.fullmatch(r"([A-Z]+|[0-9]{4})([0-9]{3})", plain)
    if found is None:
        return None
    head, digits = found[1], int(found[2])
    word = int(head) if head.isdecimal() else _numbers().get(head, WORD_COUNT)
    return word * _PER_WORD + digits - MIN_DIGITS if word < WORD_COUNT and digits >= MIN_DIGITS else None


def draw_key(signs: int) -> str:
    """A key of a participant: 10 characters (50 bits) to return, 8 (40 bits) to continue on another device."""
    return "".join(secrets.choice(SIGNS) for _ in range(signs))


def shown_key(key: str) -> str:
    """In two parts: `7KQ4M-X20ZD`."""
    middle = len(key) // 2
    return f"{key[:middle]}-{key[middle:]}"


def parsed_key(typed: str, signs: int) -> str | None:
    """The typed key; None if it is not valid. I and L are read as 1, O as 0."""
    if len(typed) > MAX_TYPED_LENGTH:
        return None
    plain = unicodedata.normalize("NFKC", typed).upper()
    plain = "".join(sign for sign in plain if sign.isalnum()).translate(_ALIKE)
    return plain if len(plain) == signs and set(plain) <= set(SIGNS) else None


def key_hash(purpose: str, scope: str, key: str) -> str:
    """The stored hash of a key. `scope` is the class, so that a key is valid only there. The hash includes the server's
    secret, so the database alone does not reveal the key.
    """
    return salted_hmac(f"lab.classroom.{purpose}.{scope}", key, algorithm="sha256").hexdigest()
