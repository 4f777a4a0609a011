"""An act and its actor."""

import msgspec

from lab.classroom.acts.facts import AnyFact
from lab.classroom.acts.ops import AnyAct


class Given(msgspec.Struct):
    """`who`: a participant, or `room`. `id`: the act's id, which identifies it when it is sent again; empty for facts.
    `texts`: ids under which its free texts were stored, in the order of `acts.ops.texts_of`.
    """

    who: str
    do: AnyAct | AnyFact
    id: str = ""
    texts: tuple[int, ...] = ()
