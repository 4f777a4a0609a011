"""Writes a standalone page."""

import hashlib
import re
from base64 import b64encode
from typing import IO, Any

import msgspec
from django.template.loader import render_to_string

from lab.api.state_charts import state_charts
from lab.archives.excerpt import Excerpt
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal
from lab.web.alone.program import Program, pack, program

MAX_BYTES = 64 * 1024 * 1024
_MARK = "<!--recording-->"
_FIRST_STYLES = (
    'html{background:#0a0d12}html[data-theme="light"]{background:#eef0f4}html[data-alone=""] .app{visibility:hidden}'
    "noscript{display:block;padding:24px;color:#e8ecf2;font:14px sans-serif}"
)
"""Until the styles of the page are there, nothing but its background is seen."""
_END = re.compile(r"</script", re.IGNORECASE)


def write_page(target: IO[bytes], excerpt: Excerpt, about: dict[str, Any], bookmarks: list[dict[str, Any]]) -> None:
    """Writes a recording, or an excerpt, as a page that plays it. `about`: the page's description of itself (`About` in
    static/lab/ui/pages/alone/data.js); `bookmarks`: marks of the time line besides those of the events.

    Raises Refusal (413) if it would exceed 64 MiB.
    """
    head, tail = frame(program(), "alone/page.html", about["name"])
    target.write(head.encode())
    for segment in excerpt.segments():
        write_part(target, f"segment-{segment.n}", segment.data)
    index = excerpt.index()
    named = [mark for mark in bookmarks if excerpt.first_seq <= mark["seq"] <= excerpt.last_seq]
    index |= {
        "run": about["run"],
        "branch": about["branch"],
        "name": about["name"],
        "boot": "",
        "schema": "",
        "branches": [],
        "marks": sorted([*index["marks"], *named], key=lambda mark: mark["seq"]),
    }
    write_part(target, "index", msgspec.json.encode({"about": about, "index": index}))
    target.write(tail.encode())


def write_part(target: IO[bytes], id: str, data: bytes) -> None:
    target.write(f'<script type="text/plain" id="{id}">{pack(data)}</script>\n'.encode())
    if target.tell() > MAX_BYTES:
        raise Refusal("refusal.page_too_large", 413, max=MAX_BYTES // 2**20)


def frame(parts: Program, template: str, title: str, more: str = "") -> tuple[str, str]:
    """The parts of the page before and after the recording. `more`: what its policy allows in addition."""
    context = {
        "title": title,
        "policy": _policy(parts.loader) + more,
        "loader": parts.loader,
        "first_styles": _FIRST_STYLES,
        "symbols": parts.symbols,
        "licences": parts.licences,
        "program": parts.packed,
        "state_charts": state_charts(),
        "noscript_en": translate("en", "alone.noscript"),
        "noscript_zh": translate("zh-CN", "alone.noscript"),
    }
    if _END.search(parts.loader):
        raise ValueError("the first script would end before its end")
    head, tail = render_to_string(template, context).split(_MARK)
    return head, tail


def _policy(loader: str) -> str:
    """Nothing is fetched: the only script is the page's own, everything else is inside the page."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(loader)}' blob:",
            f"style-src '{_digest(_FIRST_STYLES)}' blob:",
            "font-src data:",
            "img-src data:",
            "connect-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
