"""Pseudonyms of people in tables: keyed hashes. The key is stored next to the recordings and is not in any table.

`DATA/analytics-people/key` is the key; `forgotten` in the same folder lists those who must not come back, one pseudonym
per line.
"""

import base64
import hmac
import re
import secrets
from hashlib import sha256
from pathlib import Path

from lab.learning.key import stored_key

_FOLDER = "analytics-people"
_ID_BYTES = 16
_PSEUDONYM = re.compile(r"[a-z2-7]{26}\Z")


def pseudonym(data: Path, user_id: int) -> str:
    """26 characters for an account or a guest of this installation."""
    digest = hmac.new(stored_key(data / _FOLDER / "key"), f"user:{user_id}".encode(), sha256).digest()[:_ID_BYTES]
    return base64.b32encode(digest).decode().rstrip("=").lower()


def lab_id(data: Path) -> str:
    """An id of this installation, from which nothing about its people follows."""
    return hmac.new(stored_key(data / _FOLDER / "key"), b"lab", sha256).hexdigest()[:32]


def is_pseudonym(name: str) -> bool:
    """Whether a name is a person's pseudonym, and not the code of an anonymous vote."""
    return _PSEUDONYM.match(name) is not None


def forgotten(data: Path) -> frozenset[str]:
    """The people who must not be in any table, whatever the logs contain."""
    path = data / _FOLDER / "forgotten"
    return frozenset(path.read_text().split()) if path.exists() else frozenset()


def forget(data: Path, person: str) -> None:
    """Excludes a person from all later builds."""
    path = data / _FOLDER / "forgotten"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"forgotten.{secrets.token_hex(8)}")
    partial.write_text("\n".join(sorted({*forgotten(data), person})) + "\n")
    partial.replace(path)
