"""The vocabulary of `broker_core.events` for the browser: its JSON schema, its types, and the hash of both.

Three files come from here, all below `static/lab/core/events/`: `events.schema.json` (2020-12), `events.d.ts` and
`events.gen.js`. A fourth, `static/lab/core/view/empty.gen.js`, is the view before the first event. They are committed,
so that the page needs no build step; `manage.py gen_events --check` finds a stale one.
"""

import json
from collections.abc import Iterator

from msgspec import inspect

from broker_core.events import CORE, Event
from broker_core.view import empty_view
from lab.protocol.marks import MARKED_KINDS

FOLDER = "static/lab/core/events"
EMPTY_VIEW = "static/lab/core/view/empty.gen.js"


def schema_hash() -> str:
    """The hash of the core's vocabulary, which `hello` and `welcome` compare."""
    return CORE.hash


def files() -> dict[str, str]:
    """The generated files: path below the repository's root, and text."""
    return {
        f"{FOLDER}/events.schema.json": json.dumps(CORE.schema, sort_keys=True, indent=1, ensure_ascii=False) + "\n",
        f"{FOLDER}/events.d.ts": "\n".join(_typescript()) + "\n",
        f"{FOLDER}/events.gen.js": "\n".join(_javascript()) + "\n",
        EMPTY_VIEW: "\n".join(_empty_view()) + "\n",
    }


def _fields(kind: type[Event]) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _javascript() -> Iterator[str]:
    yield "// Written by `manage.py gen_events` from broker_core/events. Do not change it by hand."
    yield ""
    yield "/** Hash of the vocabulary; the server's `welcome` carries its own. */"
    yield f'export const SCHEMA = "{schema_hash()}";'
    yield ""
    yield '/** @import { EventKind, KindInfo } from "./events.d.ts" */'
    yield ""
    yield "/** Kind to family, fields in the order of the wire with their types. */"
    yield "/** @type {Record<EventKind, KindInfo>} */"
    yield "export const KINDS = {"
    for family, kinds in CORE.families().items():
        for name in kinds:
            fields = ", ".join(f'["{field.name}", {_js_type(field.type)}]' for field in _fields(CORE.kinds[name]))
            yield f'  {name}: {{ family: "{family}", fields: [{fields}] }},'
    yield "};"
    yield ""
    yield "/** Kinds that get a mark on the whole run, the most telling first. */"
    yield "/** @type {EventKind[]} */"
    yield f"export const MARKED = {json.dumps(MARKED_KINDS)};"


def _empty_view() -> Iterator[str]:
    yield "// Written by `manage.py gen_events` from broker_core/view. Do not change it by hand."
    yield ""
    yield "/** What the page shows until the first snapshot is there: nothing, in the shape of a view. */"
    yield 'export const EMPTY_VIEW = /** @type {import("./view.d.ts").View} */ (/** @type {unknown} */ ({'
    yield from (f"  {name}: {json.dumps(value)}," for name, value in empty_view().items())
    yield "}));"


def _typescript() -> Iterator[str]:
    yield "// Written by `manage.py gen_events` from broker_core/events. Do not change it by hand."
    for family, kinds in CORE.families().items():
        yield ""
        yield f"// {family}"
        for name in kinds:
            yield f"export interface {name} {{"
            yield from (f"  {field.name}: {typescript_type(field.type)};" for field in _fields(CORE.kinds[name]))
            yield "}"
    yield ""
    yield "export interface DataOf {"
    yield from (f"  {name}: {name};" for name in CORE.kinds)
    yield "}"
    yield "export type EventKind = keyof DataOf;"
    yield "export type Family = " + " | ".join(f'"{family}"' for family in CORE.families()) + ";"
    yield "/** An event as the page handles it. `seq` is dense from 1 in a branch; `cause` is a seq or 0. */"
    yield "export type EventOf<Kind extends EventKind> = {"
    yield "  seq: number; at_us: number; node: string; cause: number; kind: Kind; family: Family; data: DataOf[Kind];"
    yield "};"
    yield "export type AnyEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];"
    yield "/** `[pointer, value]`; without a value the path is removed. */"
    yield "export type Patch = ([string, unknown] | [string])[];"
    yield "/** `[seq, at_us, node, cause_seq, [kind, field...], patch]` */"
    yield "export type WireEvent = [number, number, string, number, [EventKind, ...unknown[]], Patch];"
    yield 'export type FieldType = "int" | "str" | "bool" | [FieldShape, ...FieldType[]];'
    yield 'export type FieldShape = "list" | "tuple" | "maybe" | "either";'
    yield "export interface KindInfo { family: Family; fields: [string, FieldType][] }"


def _js_type(info: inspect.Type) -> str:
    """A type as `core/events/codec.js` checks it: a name, or a shape with the types inside."""
    match info:
        case inspect.IntType():
            return '"int"'
        case inspect.StrType():
            return '"str"'
        case inspect.BoolType():
            return '"bool"'
        case inspect.VarTupleType(item_type=item):
            return f'["list", {_js_type(item)}]'
        case inspect.TupleType(item_types=items):
            return f'["tuple", {", ".join(map(_js_type, items))}]'
        case inspect.UnionType(types=types):
            shape = "maybe" if info.includes_none else "either"
            inner = [_js_type(one) for one in types if not isinstance(one, inspect.NoneType)]
            return f'["{shape}", {", ".join(inner)}]'
    raise _not_primitive(info)


def typescript_type(info: inspect.Type) -> str:
    """A type of msgspec as TypeScript. Raises TypeError for one that pages have no use for."""
    match info:
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.StrType():
            return "string"
        case inspect.BoolType():
            return "boolean"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType(values=values):
            return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            inner = typescript_type(item)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case inspect.TupleType(item_types=items):
            return f"[{', '.join(map(typescript_type, items))}]"
        case inspect.DictType(value_type=value):
            return f"Record<string, {typescript_type(value)}>"
        case inspect.UnionType(types=types):
            return " | ".join(dict.fromkeys(map(typescript_type, types)))
        case inspect.StructType(fields=fields, tag=tag, tag_field=tag_field):
            parts = [f'{tag_field}: "{tag}";'] if tag_field else []
            parts += [f"{one.encode_name}{'' if one.required else '?'}: {typescript_type(one.type)};" for one in fields]
            return "{ " + " ".join(parts) + " }"
    raise TypeError(f"no type of the page for {info!r}")


def _not_primitive(info: inspect.Type) -> TypeError:
    return TypeError(f"an event's field may hold int, str, bool, None and tuples of them; got {info!r}")
