"""The live pages of a class: the instructor's board, the projector, and the page that watches the presenter."""

import asyncio

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.actions.classes import door
from lab.actions.classes.live_class import class_folder, live_classes
from lab.classroom.audio.store import room_minutes
from lab.classroom.codes import shown_code, shown_digits
from lab.models import Class, Role
from lab.rights import membership_of
from lab.texts.refusal import Refusal
from lab.web.classes.qr import qr_svg
from lab.web.network import shown_address
from lab.web.pages import page


@never_cache
@require_GET
async def board(request: HttpRequest, slug: str) -> HttpResponse:
    """The board with the labs, polls and controls for staff. Raises Refusal: 404 for other classes, 403 for
    learners.
    """
    classroom, role = await _class_and_role(request, slug)
    if role not in (Role.INSTRUCTOR, Role.CO_INSTRUCTOR):
        raise Refusal("refusal.not_allowed", 403)
    is_open = door.is_open(classroom, timezone.now()) and classroom.code is not None
    code = shown_code(classroom.code) if is_open and classroom.code is not None else ""
    minutes = await asyncio.to_thread(room_minutes, class_folder(slug))
    context = {"classroom": classroom, "code": code, "sound_minutes": minutes}
    # A class of one person records a lesson: it has no board.
    response = await page(request, f"class/{'recorder' if door.is_lesson(classroom) else 'board'}.html", context)
    response.uses_microphone = True  # type: ignore[attr-defined]
    return response


@never_cache
@require_GET
async def projector(request: HttpRequest, slug: str) -> HttpResponse:
    """The projector's page. Raises Refusal: 404 for other classes, 403 for learners and observers."""
    classroom, role = await _class_and_role(request, slug)
    if role not in (Role.INSTRUCTOR, Role.CO_INSTRUCTOR, Role.PROJECTOR):
        raise Refusal("refusal.not_allowed", 403)
    context: dict[str, object] = {"classroom": classroom, "code": "", "digits": "", "link": "", "qr": ""}
    if door.is_open(classroom, timezone.now()) and classroom.code is not None:
        link = shown_address(request, reverse("join-class", args=(classroom.link_key,)))
        context |= {
            "code": shown_code(classroom.code),
            "digits": shown_digits(classroom.code),
            "link": shown_address(request, reverse("join")),
            "qr": qr_svg(link),
        }
    return await page(request, "class/projector.html", context)


@never_cache
@require_GET
async def watch(request: HttpRequest, slug: str) -> HttpResponse:
    """The presenter's lab, or the page of the class if no participant leads. Raises Refusal (404) for other classes."""
    classroom, _ = await _class_and_role(request, slug)
    live = await live_classes().of(classroom)
    lead = await live.room.read(lambda state: state.lead.lab if state.lead else "")
    return redirect("lab", *lead.split("/")) if lead else redirect("class", slug)


async def _class_and_role(request: HttpRequest, slug: str) -> tuple[Class, str]:
    user = await request.auser()
    classroom = await Class.objects.filter(slug=slug).afirst()
    if isinstance(user, User) and classroom is not None:
        found = await sync_to_async(membership_of)(user, classroom)
        if found is not None:
            return classroom, found.role
    raise Refusal("refusal.no_class", 404, slug=slug)
