"""Classes and people in them, for tests."""

import secrets

from django.contrib.auth.models import User

from lab.models import Class, Participant, Presence, Role


def make_user(name: str, *, is_staff: bool = False) -> User:
    """An account without a password."""
    user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": is_staff})
    return user


def make_class(owner: User, title: str = "a class") -> Class:
    """An open class whose instructor is p1."""
    made = Class.objects.create(
        slug=secrets.token_hex(4), owner=owner, title=title, link_key=secrets.token_urlsafe(16), state=Class.State.OPEN
    )
    make_member(made, owner, Role.INSTRUCTOR)
    return made


def make_member(
    classroom: Class, user: User, role: str = Role.LEARNER, presence: str = Presence.IN, nickname: str = ""
) -> Participant:
    """A user takes part."""
    number = classroom.participants.count() + 1
    return Participant.objects.create(
        classroom=classroom,
        user=user,
        number=number,
        role=role,
        presence=presence,
        is_guest=False,
        nickname=nickname,
        skeleton=nickname.casefold(),
    )
