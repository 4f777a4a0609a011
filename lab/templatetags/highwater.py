"""Template tags of Highwater's pages: texts, static files, the import map."""

import json
import re
from functools import cache
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from broker_core.texts import Value
from lab.exercises.bilingual import Bilingual
from lab.preferences import Preferences, preferences_of
from lab.rights import LOCAL_USER
from lab.texts.i18n import digest, translate
from lab.web.assets import vendor
from lab.web.assets.modules import modules_of
from lab.web.assets.static_files import JOINT, build_id
from lab.web.dev import build_of_files

register = template.Library()
_TEXTS_READER = "lab/ui/kit/i18n.js"
"""The module that fetches the catalogue of texts."""


def _preferences(context: template.Context) -> Preferences:
    return preferences_of(context["request"])


def _nonce(context: template.Context) -> str:
    return getattr(context["request"], "csp_nonce", "")


@register.simple_tag(takes_context=True)
def t(context: template.Context, key: str, **values: Value) -> str:
    """The text of `key` in the visitor's language."""
    return translate(_preferences(context).language, key, **values)


@register.simple_tag(takes_context=True)
def t_other(context: template.Context, key: str, **values: Value) -> str:
    """The text of `key` in the other language: titles carry it as a grey second line."""
    return translate("en" if _preferences(context).language == "zh-CN" else "zh-CN", key, **values)


@register.simple_tag(takes_context=True)
def texts_address(context: template.Context) -> str:
    """The address of the catalogue of the visitor's language."""
    language = _preferences(context).language
    return reverse("texts", args=(digest(language), language))


@register.simple_tag(takes_context=True)
def language(context: template.Context) -> str:
    """`en` or `zh-CN`."""
    return _preferences(context).language


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> str:
    """`dark` or `light`."""
    return _preferences(context).theme


@register.simple_tag(takes_context=True)
def density(context: template.Context) -> str:
    """`compact` or `comfortable`."""
    return _preferences(context).density


@register.simple_tag(takes_context=True)
def preference_link(context: template.Context, name: str, value: str) -> str:
    """This page's address with a choice in it, which `keep_preferences` keeps and takes out again."""
    query = context["request"].GET.copy()
    query[name] = value
    return f"?{query.urlencode()}"


@register.simple_tag
def stylesheets(folder: str, names: str) -> SafeString:
    """A link to stylesheets of a folder below `lab/css`. They come as one file, in the order given: a later one wins at
    equal specificity.
    """
    return format_html('<link rel="stylesheet" href="{}">', static(f"lab/css/{folder}/{JOINT.join(names.split())}.css"))


@register.simple_tag(takes_context=True)
def importmap(context: template.Context) -> SafeString:
    """The inline import map: what `import "lit"` means, with the digests of vendor.lock.json and the CSP nonce."""
    return format_html(
        '<script type="importmap" nonce="{}">{}</script>', _nonce(context), mark_safe(_import_map(build_id()))
    )


@cache
def _import_map(build: str) -> str:
    """Every page has it, the same for a build of the static files."""
    lock = vendor.lock()
    addresses = {name: static(f"vendor/{path}") for name, path in lock.imports.items()}
    integrity = {addresses[name]: lock.files[path].sha384 for name, path in lock.imports.items()}
    return json.dumps({"imports": addresses, "integrity": integrity}, indent=1).replace("<", "\\u003c")


@register.simple_tag(takes_context=True)
def vendor_script(context: template.Context, path: str) -> SafeString:
    """A classic script from static/vendor, `path` as in the lock, with its digest."""
    file = vendor.lock().files[path]
    return format_html(
        '<script src="{}" integrity="{}" nonce="{}" defer></script>',
        static(f"vendor/{path}"),
        file.sha384,
        _nonce(context),
    )


@register.simple_tag(takes_context=True)
def module(context: template.Context, path: str) -> SafeString:
    """A module script of the project, `path` below static/, and the texts if it or what it imports needs them."""
    script = format_html('<script type="module" src="{}" nonce="{}"></script>', static(path), _nonce(context))
    if _TEXTS_READER not in modules_of(path):
        return script
    texts = format_html('<link rel="preload" as="fetch" href="{}" crossorigin>', texts_address(context))
    return texts + script


@register.simple_tag
def preload_modules(paths: str) -> SafeString:
    """Links that let the browser fetch modules and all that they import at once; `paths` with blanks between them."""
    wanted = dict.fromkeys(one for path in paths.split() for one in modules_of(path))
    return mark_safe("".join(map(_preload, wanted)))


@register.simple_tag
def modules_for_later(paths: str) -> SafeString:
    """The same links in a template: the page's script adds them when there is time."""
    return format_html("<template data-later>{}</template>", preload_modules(paths))


@register.simple_tag(takes_context=True)
def prefetch_modules(context: template.Context, paths: str) -> SafeString:
    """Links to the modules and texts of the page that is likely to be next; static/lab/ui/kit/ahead.js begins with
    them.
    """
    wanted = dict.fromkeys(one for path in paths.split() for one in modules_of(path))
    links = [format_html('<link rel="prefetch" as="script" href="{}">', static(path)) for path in wanted]
    if _TEXTS_READER in wanted:
        links.append(format_html('<link rel="prefetch" as="fetch" href="{}" crossorigin>', texts_address(context)))
    return format_html("<template data-ahead>{}</template>", mark_safe("".join(links)))


def _preload(path: str) -> SafeString:
    """Without the digest that the import map asks for, the browser would not use what it has loaded."""
    file = vendor.lock().files.get(path.removeprefix("vendor/")) if path.startswith("vendor/") else None
    integrity = format_html(' integrity="{}"', file.sha384) if file else ""
    return format_html('<link rel="modulepreload" href="{}"{}>', static(path), integrity)


@register.simple_tag(takes_context=True)
def live_reload(context: template.Context) -> SafeString:
    """Under `make dev`, the script that reloads the page; nothing otherwise."""
    if not settings.DEV:
        return mark_safe("")
    return format_html(
        '<script type="module" src="{}" data-build="{}" nonce="{}"></script>',
        static("lab/dev/reload.js"),
        build_of_files(),
        _nonce(context),
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    """A symbol of static/lab/icons.svg; decoration, so hidden from screen readers."""
    return format_html('<svg class="ic" aria-hidden="true"><use href="{}#{}"/></svg>', static("lab/icons.svg"), name)


@register.simple_tag(takes_context=True)
def avatar(context: template.Context) -> str:
    """The initials of the signed-in user, `user_name` in the context, as a link to their account; empty without one."""
    name = context.get("user_name", "")
    name = name() if callable(name) else name
    if not name:
        return ""
    # The name of the one user of a lab without accounts is not one that they have chosen.
    shown = icon("person") if name == LOCAL_USER else initials(name)
    said = translate(_preferences(context).language, "account.title")
    label = said if name == LOCAL_USER else f"{said}: {name}"
    return format_html(
        '<a class="avatar" href="{}" title="{}"><span aria-hidden="true">{}</span><span class="sr">{}</span></a>',
        reverse("account"),
        label,
        shown,
        label,
    )


def initials(name: str) -> str:
    """`Chen Yu` -> `CY`, `lin.wang` -> `LW`, `ada` -> `A`, `陈宇` -> `陈`."""
    words: list[str] = re.findall(r"[^\s._@+-]+", name) or [name]
    first, *more = words
    if not first.isascii() or not more:
        return first[:1].upper()
    return (first[0] + more[0][0]).upper()


@register.filter
def human_bytes(value: int) -> str:
    """12 345 678 -> `12 MB`: sizes for people, three digits at most."""
    amount = float(value)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    digits = 1 if unit != "B" and amount < 10 else 0
    return f"{amount:.{digits}f} {unit}"


@register.simple_tag(takes_context=True)
def age(context: template.Context, seconds: int) -> str:
    """How long ago, in the visitor's language."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return translate(_preferences(context).language, f"age.{unit}", n=int(seconds // length))
    return translate(_preferences(context).language, "age.now")


@register.simple_tag(takes_context=True)
def t_of(context: template.Context, family: str, name: str) -> str:
    """The text `family.name`, where the name is a value."""
    return translate(_preferences(context).language, f"{family}.{name}")


@register.filter
def words(text: str) -> list[str]:
    """A list from words with blanks between them."""
    return text.split()


@register.filter
def percent(share: float) -> int:
    """0.71 -> 71."""
    return round(share * 100)


@register.filter
def page_address(name: str) -> str:
    """The address of a page by its name; empty where there is no such page."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


@register.filter
def challenge_address(slug: str) -> str:
    """The address of a challenge; empty where challenges have no page."""
    try:
        return reverse("challenge", args=(slug,))
    except NoReverseMatch:
        return ""


@register.filter
def in_language(text: Bilingual, language: str) -> str:
    """A text of the course in the visitor's language."""
    return text.zh if language == "zh-CN" else text.en


@register.filter
def in_other_language(text: Bilingual, language: str) -> str:
    """The same in the other language, for the grey second line of titles."""
    return text.en if language == "zh-CN" else text.zh


@register.filter
def other_language(language: str) -> str:
    """The language of `in_other_language`."""
    return "en" if language == "zh-CN" else "zh-CN"


@register.simple_tag(takes_context=True)
def dots_label(context: template.Context, dots: list[str]) -> str:
    """The label of the dots of a lesson's predictions."""
    counts = {name: dots.count(name) for name in ("right", "wrong")}
    return translate(_preferences(context).language, "course.dots", n=len(dots), **counts)


@register.filter
def spaced(value: Any) -> str:
    """18237 -> `18 237`."""
    return f"{int(value):,}".replace(",", "\u202f")


@register.simple_tag
def bar_height(count: int, most: int, height: int) -> str:
    """Height of a bar of `count` in a small chart whose tallest bar is `most`; what is there at all is seen."""
    return f"{max(height * count / most, 0.6) if count and most else 0:.2f}"


@register.simple_tag
def bar_top(count: int, most: int, height: int) -> str:
    """The upper edge of that bar."""
    return f"{height - float(bar_height(count, most, height)):.2f}"
