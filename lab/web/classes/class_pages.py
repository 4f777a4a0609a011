"""The classes of a user: the list, a new class, and the home of a class with its door, participants and staff
actions.
"""

import asyncio
import shutil
from typing import Any, TypeGuard

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.actions.classes import door, people
from lab.actions.classes.give_labs import give_own_lab, open_labs
from lab.actions.classes.join_class import keep_with_account, leave_class, make_pass, renew_return_key
from lab.actions.classes.keep_recordings import erase_person, is_recording_deleted
from lab.actions.classes.live_class import class_folder, live_classes
from lab.actions.classes.recordings import is_imported
from lab.actions.classes.shown_labs import close_labs
from lab.actions.classes.start_class import delete_class, end_class, members_of, start_class
from lab.actions.control_exercise import end_exercises
from lab.actions.execution import MAX_EXECUTION_S
from lab.actions.imports import refusal_to_show, running_import
from lab.actions.keep_tables import erase_from_tables
from lab.analytics.build.logs import class_log
from lab.class_rights import Right
from lab.classroom.codes import shown_code, shown_digits, shown_key
from lab.course.loader import course
from lab.models import Branch, Class, Participant, Presence, Role
from lab.preferences import preferences_of
from lab.rights import may, membership_of, require, user_of
from lab.runtime.host import host
from lab.texts.refusal import Refusal
from lab.web.classes.door_pages import forget_key, key_to_show, show_key, wrong_codes_are_many
from lab.web.classes.guests import forget, participant_of_cookie, remember
from lab.web.classes.qr import qr_svg
from lab.web.network import may_hear, shown_address
from lab.web.pages import page, render_page, status_of

GIVEN_ROLES = (Role.LEARNER, Role.CO_INSTRUCTOR, Role.OBSERVER, Role.PROJECTOR)


@login_required
@require_GET
async def classes(request: HttpRequest) -> HttpResponse:
    """The classes that the user teaches or attends."""
    return await classes_page(request, refusal_to_show(await user_of(request), "class"))


@login_required
@require_POST
async def new_class(request: HttpRequest) -> HttpResponse:
    """Starts a class. Raises Refusal (403) if the user may not."""
    user = await user_of(request)
    await sync_to_async(require)(user, None, "staff")
    chapters = tuple(value for value, _ in starts(preferences_of(request).language))
    form = request.POST.dict()
    form["start"] = form.get("origin", "").strip() or form.get("chapter", "")
    try:
        made = await sync_to_async(start_class)(user, form, chapters, timezone.now())
        await open_labs(host(), user, made, preferences_of(request).language)
    except Refusal as refusal:
        return await classes_page(request, refusal, form)
    return redirect("class", made.slug)


@never_cache
@require_GET
async def class_home(request: HttpRequest, slug: str) -> HttpResponse:
    """For staff the door and the participants; for others their place in the class. Visitors without access are sent to
    the page that takes return keys, whether the class exists or not.
    """
    # Hundreds open this page within seconds: few thread switches, and few queries.
    found = await sync_to_async(_membership_or_response)(request, slug)
    if isinstance(found, HttpResponse):
        return found
    classroom, me = found
    if me.is_staff:
        return await _door_page(request, classroom, me)
    if me.role == Role.LEARNER and me.run_id is None and not door.is_lesson(classroom):
        return await give_own_lab(host(), me, lambda given: _learner_page(request, classroom, me, given), is_fresh=True)
    return await sync_to_async(_learner_page)(request, classroom, me)


def _membership_or_response(request: HttpRequest, slug: str) -> tuple[Class, Participant] | HttpResponse:
    """The class and the participant if the user may see it; otherwise the response."""
    known = participant_of_cookie(request, slug)
    user = request.user
    if known is not None and not _is_account(user):
        if known.presence == Presence.WAITING:
            return render(request, "class/waiting.html", {"classroom": known.classroom, "me": known})
        if known.presence == Presence.MERGED:
            return _becomes(known)
        if known.presence == Presence.IN:
            return known.classroom, known
    if not isinstance(user, User):
        return redirect("return", slug)
    found = _class_and_member(user, slug)
    if found is None and known is not None and known.user_id is not None and _is_account(user):
        context = {"classroom": known.classroom, "me": known, "account": user.get_username()}
        return render_page(request, "class/keep.html", context, user)
    if found is None or found[1].presence in (Presence.LEFT, Presence.ERASED, Presence.MERGED):
        return redirect("return", slug)
    classroom, me = found
    if me.presence in (Presence.WAITING, Presence.KICKED):
        name = "waiting" if me.presence == Presence.WAITING else "removed"
        return render_page(request, f"class/{name}.html", {"classroom": classroom, "me": me}, user)
    return found


def _learner_page(request: HttpRequest, classroom: Class, me: Participant, given: Branch | None = None) -> HttpResponse:
    """`given`: the lab that they have just got."""
    key, lab = key_to_show(request, me), given or _own_lab(me)
    run = reverse("lab", args=(lab.run.slug, lab.name)) if lab is not None else ""
    context = {"classroom": classroom, "me": me, "key": key, "run": run}
    assert isinstance(request.user, User)
    response = render_page(request, "class/learner.html", context, request.user)
    if key:
        forget_key(response)
    return response


@never_cache
@require_GET
async def presence(request: HttpRequest, slug: str) -> HttpResponse:
    """Whether a waiting participant has been admitted. The response is empty for an unknown browser."""
    known = await sync_to_async(participant_of_cookie)(request, slug)
    if known is None:
        user = await request.auser()
        found = await sync_to_async(_class_and_member)(user, slug) if user.is_authenticated else None
        known = found[1] if found else None
    return JsonResponse({"presence": known.presence if known else ""})


@require_POST
async def change_door(request: HttpRequest, slug: str) -> HttpResponse:
    """`op`: open, stay, close, renew, admits, admits-not, admit-all."""
    user, classroom = await _with_right(request, slug, "staff")
    me = await sync_to_async(_member)(user, classroom)
    op, now = request.POST.get("op", ""), timezone.now()
    match op:
        case "open" | "stay":
            await sync_to_async(door.open_door)(classroom, now, stays=op == "stay")
        case "close":
            await sync_to_async(door.close_door)(classroom)
        case "renew":
            await sync_to_async(door.renew_code)(classroom, now)
        case "admits" | "admits-not":
            await sync_to_async(door.set_admits)(classroom, op == "admits")
        case "admit-all":
            await sync_to_async(people.admit_all)(classroom, me)
        case _:
            raise Refusal("refusal.unknown_operation", operation=op[:40])
    return redirect("class", slug)


@require_POST
async def change_person(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """`op`: admit, was, rename (name), role (role), kick, let-back, erase."""
    user, classroom = await _with_right(request, slug, "staff")
    try:
        await _change_person(request, user, classroom, number)
    except Refusal as refusal:
        me = await sync_to_async(_member)(user, classroom)
        return await _door_page(request, classroom, me, refusal)
    return redirect("class", slug)


@require_POST
async def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Forgets the browser's place in this class, for example on a shared computer."""
    me = await _me(request, slug)
    await sync_to_async(leave_class)(me)
    response = redirect("return", slug)
    forget(response, me.classroom)
    return response


@require_POST
async def erase_me(request: HttpRequest, slug: str) -> HttpResponse:
    """Erases the participant's own name, keys and texts, and a guest's runs. Needs `confirm`."""
    me = await _me(request, slug)
    if request.POST.get("confirm") != "yes":
        raise Refusal("refusal.erasure_not_confirmed")
    await erase_person(me, me)
    response = redirect("join")
    forget(response, me.classroom)
    return response


@require_POST
async def keep(request: HttpRequest, slug: str) -> HttpResponse:
    """Moves the guest of the cookie to the account that has signed in."""
    user, known = await request.auser(), await sync_to_async(participant_of_cookie)(request, slug)
    if known is None or known.presence not in (Presence.IN, Presence.WAITING) or not _is_account(user):
        raise Refusal("refusal.no_class", 404, slug=slug)
    if known.user is not None:
        await end_exercises(host().labs(), known.user)
    await sync_to_async(keep_with_account)(known, user)
    response = redirect("class", slug)
    forget(response, known.classroom)
    return response


@require_POST
async def new_key(request: HttpRequest, slug: str) -> HttpResponse:
    """Creates a new return key; the previous one becomes invalid."""
    me = await _me(request, slug)
    key = await sync_to_async(renew_return_key)(me)
    response = redirect("class", slug)
    show_key(response, me, key)
    return response


@require_POST
async def continue_elsewhere(request: HttpRequest, slug: str) -> HttpResponse:
    """A pass for another device, as a QR code and as eight characters."""
    me = await _me(request, slug)
    key = await sync_to_async(make_pass)(me, timezone.now())
    address = shown_address(request, reverse("continue-with", args=(key,)))
    context = {"classroom": me.classroom, "key": shown_key(key), "address": address, "qr": qr_svg(address)}
    return await page(request, "class/elsewhere.html", context)


@require_POST
async def end(request: HttpRequest, slug: str) -> HttpResponse:
    """Ends the class. Needs `confirm`."""
    _, classroom = await _with_right(request, slug, "own")
    if request.POST.get("confirm") != "yes":
        raise Refusal("refusal.class_end_not_confirmed", title=classroom.title)
    await sync_to_async(end_class)(classroom, timezone.now())
    return redirect("class", slug)


@require_POST
async def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Deletes the class. Needs `confirm`."""
    _, classroom = await _with_right(request, slug, "own")
    if request.POST.get("confirm") != "yes":
        raise Refusal("refusal.class_deletion_not_confirmed", title=classroom.title)
    # Also if the page is closed meanwhile.
    await asyncio.shield(asyncio.create_task(_delete(classroom)))
    return redirect("classes")


async def _delete(classroom: Class) -> None:
    slug = classroom.slug
    await live_classes().close_class(slug, then=lambda: sync_to_async(delete_class)(classroom))
    await close_labs(slug)
    await asyncio.to_thread(shutil.rmtree, class_folder(slug), ignore_errors=True)
    await erase_from_tables(logs={class_log(slug)})


# The asking user


def _is_account(user: Any) -> TypeGuard[User]:
    return isinstance(user, User) and user.has_usable_password()


async def _with_right(request: HttpRequest, slug: str, right: Right) -> tuple[User, Class]:
    """Raises Refusal: 401 if not signed in, 404 if not in the class, 403 without the right."""
    user = await user_of(request)
    missing = Refusal("refusal.no_class", 404, slug=slug)
    found = await Class.objects.filter(slug=slug).afirst()
    if found is None:
        raise missing
    await sync_to_async(require)(user, found, right, missing)
    return user, found


async def _me(request: HttpRequest, slug: str) -> Participant:
    user, classroom = await _with_right(request, slug, "see")
    return await sync_to_async(_member)(user, classroom)


def _member(user: User, classroom: Class) -> Participant:
    found = membership_of(user, classroom)
    assert found is not None, "the right was asked for"
    found.classroom = classroom
    return found


def _class_and_member(user: User, slug: str) -> tuple[Class, Participant] | None:
    found = Participant.objects.filter(classroom__slug=slug, user_id=user.pk).select_related("classroom", "run").first()
    return (found.classroom, found) if found else None


def _becomes(waiting: Participant) -> HttpResponse:
    """Staff confirmed the claimed identity: the browser gets that participant's cookie, once."""
    target = waiting.claims
    if target is None:
        response = redirect("return", waiting.classroom.slug)
        forget(response, waiting.classroom)
        return response
    Participant.objects.filter(pk=waiting.pk).update(claims=None)
    response = redirect("class", waiting.classroom.slug)
    remember(response, target)
    return response


def _own_lab(me: Participant) -> Branch | None:
    """The participant's lab, if there is one: the newest branch of their run."""
    return me.run.branches.order_by("-pk").first() if me.run is not None else None


async def _change_person(request: HttpRequest, user: User, classroom: Class, number: int) -> None:
    me = await sync_to_async(_member)(user, classroom)
    chosen = await classroom.participants.select_related("user", "claims", "classroom").filter(number=number).afirst()
    if chosen is None or chosen.presence in (Presence.MERGED, Presence.ERASED):
        raise Refusal("refusal.no_participant", 404, number=number)
    op = request.POST.get("op", "")
    await sync_to_async(require)(user, chosen, "staff")
    match op:
        case "admit":
            await sync_to_async(people.admit)(chosen, me)
        case "was":
            if chosen.claims is not None:
                await sync_to_async(require)(user, chosen.claims, "staff")
            await sync_to_async(people.accept_claim)(chosen, me, timezone.now())
        case "rename":
            await sync_to_async(people.rename)(chosen, request.POST.get("name", ""), me)
        case "role":
            await sync_to_async(require)(user, classroom, "own")
            await sync_to_async(people.give_role)(chosen, request.POST.get("role", ""), me)
        case "kick":
            await sync_to_async(people.kick)(chosen, me)
        case "let-back":
            await sync_to_async(people.let_back)(chosen, me)
        case "erase":
            if request.POST.get("confirm") != "yes":
                raise Refusal("refusal.erasure_not_confirmed")
            await erase_person(chosen, me)
        case _:
            raise Refusal("refusal.unknown_operation", operation=op[:40])


# Pages


async def classes_page(
    request: HttpRequest, refusal: Refusal | None = None, form: dict[str, str] | None = None
) -> HttpResponse:
    """The list of classes. After a refusal, with its message and the submitted form."""
    user, language = await user_of(request), preferences_of(request).language
    context = {
        "classes": await sync_to_async(selectors.class_cards)(user),
        "may_teach": await sync_to_async(may)(user, None, "staff"),
        "starts": starts(language),
        "error": {**refusal.as_json(language), "field": refusal.field} if refusal else None,
        "form": form or {},
        "import_max_s": round(MAX_EXECUTION_S),
        "importing": running_import(user, "class"),
    }
    return await page(request, "class/list.html", context, status=status_of(request, refusal))


def starts(language: str) -> list[tuple[str, str]]:
    """(slug, title) of the parts of the course that a class may start with: chapters that have lessons, and these."""
    whole = course()
    found = []
    for number, chapter in enumerate(whole.chapters, 1):
        if not chapter.lessons:
            continue
        found.append((chapter.slug, f"{number} {chapter.title.zh if language == 'zh-CN' else chapter.title.en}"))
        for lesson in whole.lessons.values():
            if lesson.chapter == number:
                title = lesson.exercise.title
                found.append((lesson.slug, f"{lesson.number} {title.zh if language == 'zh-CN' else title.en}"))
    return found


async def _door_page(
    request: HttpRequest, classroom: Class, me: Participant, refusal: Refusal | None = None
) -> HttpResponse:
    now, language = timezone.now(), preferences_of(request).language
    address = shown_address(request, reverse("join-class", args=(classroom.link_key,)))
    is_open = door.is_open(classroom, now)
    found = await sync_to_async(members_of)(classroom)
    seconds = (classroom.door_until - now).total_seconds() if classroom.door_until else 0
    context = {
        "classroom": classroom,
        "me": me,
        "is_open": is_open,
        "minutes": max(1, round(seconds / 60)),
        "code": shown_code(classroom.code) if is_open and classroom.code is not None else "",
        "digits": shown_digits(classroom.code) if is_open and classroom.code is not None else "",
        "address": address,
        "join_address": shown_address(request, reverse("join")),
        "qr": qr_svg(address) if is_open else "",
        "under_attack": wrong_codes_are_many(),
        "serves_room": settings.SERVES_ROOM,
        "hears": may_hear(request),
        "waiting": [one for one in found if one.presence == Presence.WAITING],
        "people": [one for one in found if one.presence != Presence.WAITING],
        "roles": GIVEN_ROLES,
        "owns": me.role == Role.INSTRUCTOR,
        "recording_days": settings.RECORDING_DAYS,
        "table_days": settings.TABLE_DAYS,
        "recording_deleted": is_recording_deleted(classroom),
        "records_lesson": door.is_lesson(classroom),
        "watches": door.is_lesson(classroom) or is_imported(classroom),
        "watch_address": shown_address(request, reverse("watch-lesson", args=(classroom.link_key,))),
        "error": refusal.as_json(language) if refusal else None,
    }
    response = await page(request, "class/door.html", context, status=refusal.status if refusal else 200)
    # Only pages of staff may use the microphone, to record the class (lab/web/middleware.py).
    response.uses_microphone = True  # type: ignore[attr-defined]
    return response
