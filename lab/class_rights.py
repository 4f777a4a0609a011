"""What each role may do in a class: the one table for pages and addresses (lab/rights.py) and for acts
(lab/classroom/decide).
"""

from typing import Literal, TypeAlias

Right: TypeAlias = Literal["see", "ask", "act", "time", "fork", "export", "staff", "own"]

RIGHTS: tuple[Right, ...] = ("see", "ask", "act", "time", "fork", "export", "staff", "own")
OF_ROLE: dict[str, frozenset[Right]] = {
    "instructor": frozenset(RIGHTS),
    "co-instructor": frozenset(RIGHTS) - {"own"},
    "learner": frozenset(("see", "ask", "act", "fork")),
    "observer": frozenset(("see", "ask")),
    "projector": frozenset(("see",)),
}


def roles_with(right: Right) -> frozenset[str]:
    """The roles that have a right."""
    return frozenset(role for role, rights in OF_ROLE.items() if right in rights)
