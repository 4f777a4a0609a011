"""What a page may name of a lab: an element of its picture, and a screen.

Those that hands, questions and answers to polls name are in the events of a class, which outlive the texts of a person
who was erased, and answers are shown to all. So they must not be free text: they have the form of a Target in
static/lab/core/view/selectors.js. Views, pointers and strokes, which only the presenter sends, are not checked.
"""

import re

MAX_ANCHOR_LENGTH = 320
SCREENS = ("picture", "table", "disk", "zookeeper", "groups", "producers", "transactions", "alarms")
"""What a page of a lab can show: static/lab/ui/store/state.js."""
_PARTITION = r"[A-Za-z0-9._-]{1,249}-\d{1,9}"
_SEGMENT = r"(?:<default>|[A-Za-z0-9._%-]+(?:\ [A-Za-z0-9._%-]+)*)"
"""A segment of a znode's path: `<default>` is the entity of a default configuration; names of groups have spaces."""
_ELEMENT = re.compile(
    rf"""
    (rpc|parked):r\d{{1,15}}
    | broker:b\d{{1,9}}
    | client:[A-Za-z0-9._-]{{1,249}}
    | link:[A-Za-z0-9._-]{{1,120}}\|[A-Za-z0-9._-]{{1,120}}
    | partition:{_PARTITION}
    | replica:{_PARTITION}@b\d{{1,9}}
    | record:{_PARTITION}@b\d{{1,9}}:\d{{1,15}}
    | znode:/(?:{_SEGMENT}(?:/{_SEGMENT})*)?
    """,
    re.VERBOSE | re.ASCII,
)


def is_element(anchor: str) -> bool:
    """Whether a text names an element of a picture, such as `record:orders-0@b1:42`."""
    return len(anchor) <= MAX_ANCHOR_LENGTH and _ELEMENT.fullmatch(anchor) is not None
