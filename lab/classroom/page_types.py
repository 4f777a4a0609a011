"""The server's definitions for the page of a class: kinds of events and their hash, acts, frames.

It generates `class_events.gen.js` and `class_events.d.ts` in `static/lab/core/events`, and limits of what people write
in `static/lab/core/classroom/limits.gen.js`. They are committed; `manage.py gen_events --check` finds a stale one.
"""

from collections.abc import Iterator

import msgspec
from msgspec import inspect

from lab.classroom import frames
from lab.classroom.captions.webvtt import MAX_TEXT
from lab.classroom.events import CLASS
from lab.protocol.event_schema import typescript_type

FOLDER = "static/lab/core/events"
_WRITTEN = "// Written by `manage.py gen_events` from lab/classroom. Do not change it by hand."
_TO_PAGE = (
    frames.ClassWelcome,
    frames.ClassDone,
    frames.Kept,
    frames.ClassNo,
    frames.Count,
    frames.Alarm,
    frames.Shed,
    frames.ClassBye,
    frames.TimeAnswer,
)


def files() -> dict[str, str]:
    """The generated files: path below the repository's root, and text."""
    return {
        f"{FOLDER}/class_events.gen.js": "\n".join(_javascript()) + "\n",
        f"{FOLDER}/class_events.d.ts": "\n".join(_typescript()) + "\n",
        "static/lab/core/classroom/limits.gen.js": "\n".join(_limits()) + "\n",
    }


def _limits() -> Iterator[str]:
    yield _WRITTEN
    yield ""
    yield "/** The most characters of a caption. */"
    yield f"export const MAX_CAPTION_TEXT = {MAX_TEXT};"


def _javascript() -> Iterator[str]:
    yield _WRITTEN
    yield ""
    yield "/** Hash of the vocabulary; the server's `welcome` carries its own. */"
    yield f'export const CLASS_SCHEMA = "{CLASS.hash}";'
    yield ""
    yield '/** @import { ClassEventKind } from "./class_events.d.ts" */'
    yield ""
    yield "/** Kind to its fields in the order of the wire. */"
    yield "/** @type {Record<ClassEventKind, string[]>} */"
    yield "export const CLASS_KINDS = {"
    for name, kind in CLASS.kinds.items():
        fields = ", ".join(f'"{field}"' for field in kind.__struct_fields__)
        yield f"  {name}: [{fields}],"
    yield "};"


def _typescript() -> Iterator[str]:
    yield _WRITTEN
    for name, kind in CLASS.kinds.items():
        yield f"export interface {name} {_shape(kind)}"
    yield "export interface ClassDataOf {"
    yield from (f"  {name}: {name};" for name in CLASS.kinds)
    yield "}"
    yield "export type ClassEventKind = keyof ClassDataOf;"
    yield "/** `[seq, at_us, who, act, [kind, field...]]`: `at_us` is class time. */"
    yield "export type ClassWireEvent = [number, number, string, string, [ClassEventKind, ...unknown[]]];"
    yield "/** `[pointer, value]`: the new value of a section; without a value it is no more. */"
    yield "export type SectionPatch = [string, unknown] | [string];"
    yield ""
    yield "// Acts, in the field `do` of an `act` frame."
    acts = typescript_type(_field(frames.ActFrame, "do"))
    yield f"export type ClassAct = {acts};"
    yield ""
    yield "// Frames from the page."
    sent = " | ".join(typescript_type(inspect.type_info(kind)) for kind in frames.ClassFrame.__args__)
    yield f"export type ClassFrameSent = {sent.replace(acts, 'ClassAct')};"
    yield ""
    yield "// Frames to the page."
    yield "export type ClassEvents = {"
    yield '  k: "e"; after: number; upto: number; ev: ClassWireEvent[]; patch: SectionPatch[];'
    yield "};"
    yield 'export type ClassSnap = { k: "snap"; upto: number; patch: SectionPatch[] };'
    yield 'export type ClassView = { k: "view"; p: string; term: number; class_us: number; view: unknown };'
    yield "export type ClassPoint = {"
    yield '  k: "point"; class_us: number; anchor: string; u: number; v: number; down: boolean;'
    yield "};"
    others = " | ".join(typescript_type(inspect.type_info(kind)) for kind in _TO_PAGE)
    yield f"export type ClassFrame = ClassEvents | ClassSnap | ClassView | ClassPoint | {others};"


def _shape(kind: type[msgspec.Struct]) -> str:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return "{ " + " ".join(f"{field.name}: {typescript_type(field.type)};" for field in info.fields) + " }"


def _field(kind: type[msgspec.Struct], name: str) -> inspect.Type:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return next(field.type for field in info.fields if field.name == name)
