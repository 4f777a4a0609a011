"""Writes a recorded class as a standalone page."""

from base64 import b64encode
from typing import IO

import msgspec

from lab.actions.classes.recorded.export_page import ClassPageContent, Sound, audio_told, sampled, sounds
from lab.web.alone.document import MAX_BYTES, frame, write_part
from lab.web.alone.program import class_program, pack, version

_TEMPLATE, _SOUND = "alone/class.html", "; media-src blob:"


class Weight(msgspec.Struct):
    """Estimated size of a page in bytes: without the voice, the voice, and the limit."""

    bytes: int
    sound_bytes: int
    max_bytes: int


def write_class_page(target: IO[bytes], content: ClassPageContent, *, has_sound: bool = True) -> None:
    """Writes a class, or a passage of it, as a page that plays it. The voice is left out if the page would exceed 64
    MiB with it. Raises Refusal (413) if it does without.
    """
    head, tail = frame(class_program(), _TEMPLATE, content.about["title"], _SOUND)
    target.write(head.encode())
    for n, segment in enumerate(content.excerpt.segments):
        write_part(target, f"class-{n}", segment)
    for number, lab in content.labs.items():
        for part in lab.segments():
            write_part(target, f"lab-{number}-{part.n}", part.data)
        run, _, branch = content.excerpt.labs[number].address.partition("/")
        index = {**lab.index(), "run": run, "branch": branch, "name": "", "boot": "", "schema": "", "branches": []}
        write_part(target, f"lab-{number}-index", msgspec.json.encode(index))
    for language, cues in content.captions.items():
        write_part(target, f"captions-{language}", msgspec.json.encode({"cues": cues}))
    if content.notes:
        write_part(target, "notes", msgspec.json.encode(content.notes))
    write_part(target, "map", msgspec.json.encode(content.excerpt.rows))
    found = sounds(content) if has_sound else []
    kept = found if target.tell() + _text_bytes(found) + len(tail) <= MAX_BYTES else []
    for one in kept:
        target.write(b'<script type="text/plain" id="sound-%d">%b</script>\n' % (one.piece.piece, b64encode(one.data)))
    about = {**content.about, "audio": audio_told(content, kept), "version": version(), "left_out": kept != found}
    write_part(target, "about", msgspec.json.encode(about))
    target.write(tail.encode())


def weight_of(content: ClassPageContent) -> Weight:
    """Estimated from samples, because writing the page takes too long while a person chooses a passage."""
    head, tail = frame(class_program(), _TEMPLATE, "", _SOUND)
    total = len(head.encode()) + len(tail.encode())
    for parts, count in sampled(content):
        total += sum(len(pack(part)) for part in parts) * count // max(1, len(parts))
    return Weight(total, _text_bytes(sounds(content)), MAX_BYTES)


def _text_bytes(found: list[Sound]) -> int:
    return sum(-(-len(one.data) // 3) * 4 + 60 for one in found)
