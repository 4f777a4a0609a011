"""HTTP API of the client screens: previews of the core's assignors for a group."""

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from broker_core.groups.preview import PreviewMember, RuleError, previews
from lab.api.history import body_of, for_branch, json_answer
from lab.models import Branch
from lab.runtime.lab import Lab
from lab.texts.refusal import Refusal

MAX_MEMBERS = 200
MAX_PARTITIONS = 2_000


class _Group(msgspec.Struct):
    """A group as the page shows it, at whatever instant that is. `partitions`: topic -> how many; `assignors`: those of
    a learner's own, name -> rules.
    """

    generation_id: int
    partitions: dict[str, int]
    members: list[PreviewMember]
    assignors: dict[str, str] = {}


@require_POST
@for_branch("see")
async def assignments(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """A plan by each assignor."""
    group = body_of(request, _Group)
    if len(group.members) > MAX_MEMBERS or sum(group.partitions.values()) > MAX_PARTITIONS:
        raise Refusal("refusal.group_too_large", members=MAX_MEMBERS, partitions=MAX_PARTITIONS)
    try:
        return json_answer(previews(group.partitions, group.members, group.generation_id, group.assignors))
    except RuleError as error:
        raise Refusal("refusal.invalid_rules", problem=error.message) from None
