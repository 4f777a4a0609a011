"""A browser without an account."""

import re
from http.cookiejar import Cookie

from lab.models import Class, Participant
from tests.support.lab_server import Answer, Visitor


class Guest(Visitor):
    """Comes to the door."""

    def join(self, link_key: str, name: str = "", consent: str = "number") -> Answer:
        """Joins a class by its link."""
        return self.post(f"/join/{link_key}/", name=name, consent=consent)

    def cookie(self, end: str) -> Cookie:
        """The cookie whose name ends so."""
        found = [cookie for cookie in self.cookies if cookie.name.endswith(end)]
        assert len(found) == 1, [cookie.name for cookie in self.cookies]
        return found[0]

    def has_cookie(self, end: str) -> bool:
        return any(cookie.name.endswith(end) for cookie in self.cookies)


def participant(room: Class, number: int) -> Participant:
    return Participant.objects.get(classroom=room, number=number)


def key_on(page: str) -> str:
    found = re.search(r"big-code mono\">([0-9A-Z]{5}-[0-9A-Z]{5})<", page)
    assert found, page
    return found[1]
