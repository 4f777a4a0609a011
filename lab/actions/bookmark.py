"""Gives an instant of a branch a name."""

from django.contrib.auth.models import User

from broker_core.texts import render, text
from lab.models import MAX_NAME_LENGTH, Bookmark, Branch
from lab.texts.refusal import Refusal

MAX_BOOKMARKS = 200


def bookmark(user: User, branch: Branch, seq: int, at_us: int, name: str, language: str = "en") -> Bookmark:
    """Stores a bookmark; without a name it gets one in this language.

    Raises Refusal if the name is too long, or there are too many bookmarks.
    """
    name = " ".join(name.split()) or render(text("name.bookmark", seq=seq), language)
    if len(name) > MAX_NAME_LENGTH:
        raise Refusal("refusal.bookmark_name_too_long", length=len(name), max=MAX_NAME_LENGTH)
    if branch.bookmarks.count() >= MAX_BOOKMARKS:
        raise Refusal("refusal.bookmark_limit", 409, max=MAX_BOOKMARKS)
    return Bookmark.objects.create(branch=branch, owner=user, seq=seq, at_us=at_us, name=name)
