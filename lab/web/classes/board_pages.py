"""The live pages of a class: the instructor's board, the projector, and the page that watches the presenter."""

import asyncio
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.actions.classes import door
from lab.actions.classes.lessons.start import current_lesson
from lab.actions.classes.live_class import class_folder, live_classes
from lab.actions.classes.mistake_texts import mistake_texts
from lab.classroom.audio.store import room_minutes
from lab.classroom.codes import shown_code, shown_digits
from lab.course.loader import course
from lab.models import Class, Role
from lab.preferences import preferences_of
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
    language = preferences_of(request).language
    context = {
        "classroom": classroom,
        "code": code,
        "sound_minutes": minutes,
        "lessons": _lessons(language),
        "mistake_texts": _mistake_texts(classroom, language),
    }
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
    language = preferences_of(request).language
    context: dict[str, object] = {"classroom": classroom, "code": "", "digits": "", "link": "", "qr": ""}
    context |= {"lessons": _lessons(language), "mistake_texts": _mistake_texts(classroom, language)}
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
async def mistakes(request: HttpRequest, slug: str, lesson: str) -> HttpResponse:
    """The sentences of what a class may mix up in a lesson, for a board or projector whose class has gone on with it.
    Raises Refusal: 404 for other classes, 403 for learners and observers.
    """
    _, role = await _class_and_role(request, slug)
    if role not in (Role.INSTRUCTOR, Role.CO_INSTRUCTOR, Role.PROJECTOR):
        raise Refusal("refusal.not_allowed", 403)
    return JsonResponse(mistake_texts(lesson, preferences_of(request).language))


@never_cache
@require_GET
async def watch(request: HttpRequest, slug: str) -> HttpResponse:
    """The lab that is shown, on stage or by the presenter; the page of the class if there is none. Raises Refusal (404)
    for other classes.
    """
    classroom, _ = await _class_and_role(request, slug)
    live = await live_classes().of(classroom)
    now = live.room.board.now
    shown = now.stage[2] if now.stage else now.lead_lab
    return redirect("lab", *shown.split("/")) if shown else redirect("class", slug)


def _lessons(language: str) -> list[dict[str, Any]]:
    """The lessons of the course by chapter, for the pages of a class: {title, lessons: {slug, number, title}}."""
    return [
        {
            "title": f"{chapter.number} {chapter.title.in_language(language)}",
            "lessons": [
                {"slug": one.slug, "number": one.number, "title": one.exercise.title.in_language(language)}
                for one in chapter.lessons
            ],
        }
        for chapter in course().chapters
        if chapter.lessons
    ]


def _mistake_texts(classroom: Class, language: str) -> dict[str, Any]:
    """The texts of mistakes of the lesson that the class is at: {lesson: its slug, texts}."""
    lesson = current_lesson(classroom)
    slug = lesson.slug if lesson is not None else ""
    return {"lesson": slug, "texts": mistake_texts(slug, language)}


async def _class_and_role(request: HttpRequest, slug: str) -> tuple[Class, str]:
    user = await request.auser()
    classroom = await Class.objects.filter(slug=slug).afirst()
    if isinstance(user, User) and classroom is not None:
        found = await sync_to_async(membership_of)(user, classroom)
        if found is not None:
            return classroom, found.role
    raise Refusal("refusal.no_class", 404, slug=slug)
