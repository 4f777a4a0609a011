"""A lab of a recorded class as one side of a comparison."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from lab.actions.classes.recordings import look_into
from lab.actions.classes.shown_labs import shown_lab
from lab.api.recorded import found_class, lab_titles
from lab.texts.refusal import Refusal

ADDRESS = re.compile(r"class/(?P<slug>[a-z0-9-]{1,32})/(?P<lab>\d{1,4})")


async def recorded_side(user: User, address: str) -> dict[str, Any]:
    """The lab `class/<class>/<number>` in the form of `selectors.branch_choices`, with `api`, the address of its
    history. Raises Refusal (404) if the user is not in the class, or the lab was not shown.
    """
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise Refusal("refusal.no_branch", 404, branch=address)
    asker = await found_class(user, found["slug"], "see")
    classroom, number = asker.classroom, int(found["lab"])
    recording, _ = await shown_lab(classroom, number)
    titles = await lab_titles(classroom)
    shown = await look_into(classroom, lambda playback: playback.map.labs[number])
    era = str(recording.config["era"])
    return {
        "address": address,
        "run": "",
        "branch": titles[number] or shown.address,
        "name": classroom.title,
        "era": era,
        "era_text": f"era.{era}",
        "href": reverse("class-replay", args=(classroom.slug,)),
        "api": f"/api/classes/{classroom.slug}/recording/labs/{number}/",
    }
