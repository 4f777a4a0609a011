// Events between wire and page: [seq, at_us, node, cause_seq, [kind, field...], patch] <-> an object with names.

import { KINDS } from "./events.gen.js";
/** @import { Texts } from "../texts.js" */
/** @import { AnyEvent, EventKind, FieldType, Patch, WireEvent } from "./events.d.ts" */

/**
 * @param {WireEvent} wire
 * @returns {AnyEvent}
 * @throws {TypeError} for a kind that this page does not know: page and server are of different versions
 */
export function decode(wire) {
  const [seq, at_us, node, cause, [kind, ...values]] = wire;
  const info = KINDS[kind];
  if (!info) throw new TypeError(`event ${seq} is of kind ${kind}, which this page does not know: reload it`);
  /** @type {Record<string, unknown>} */
  const data = {};
  info.fields.forEach(([name], i) => (data[name] = values[i]));
  return /** @type {any} */ ({ seq, at_us, node, cause, kind, family: info.family, data });
}

/**
 * @param {AnyEvent} event
 * @param {Patch} [patch]
 * @returns {WireEvent}
 */
export function encode(event, patch = []) {
  /** @type {Record<string, any>} */
  const data = event.data;
  const values = KINDS[event.kind].fields.map(([name]) => data[name]);
  return [event.seq, event.at_us, event.node, event.cause, [event.kind, ...values], patch];
}

/**
 * What is wrong with an event on the wire, or null. For development and tests.
 * @param {any} wire
 * @returns {string | null}
 */
export function fault(wire) {
  if (!Array.isArray(wire) || wire.length !== 6) return "an event is an array of six; got " + JSON.stringify(wire);
  const [seq, at_us, node, cause, body, patch] = wire;
  if (![seq, at_us, cause].every(Number.isSafeInteger)) return `seq, at_us and cause are integers; got ${seq}, ${at_us}, ${cause}`;
  if (typeof node !== "string") return `node is a string; got ${node}`;
  if (!Array.isArray(body) || !Object.hasOwn(KINDS, body[0])) return `event ${seq}: unknown kind ${body?.[0]}`;
  const fields = KINDS[/** @type {EventKind} */ (body[0])].fields;
  if (body.length !== fields.length + 1) return `event ${seq}: ${body[0]} has ${fields.length} fields; got ${body.length - 1}`;
  for (const [i, [name, type]] of fields.entries())
    if (!fits(body[i + 1], type)) return `event ${seq}: ${body[0]}.${name} is ${JSON.stringify(type)}; got ${JSON.stringify(body[i + 1])}`;
  if (!Array.isArray(patch)) return `event ${seq}: the patch is an array; got ${JSON.stringify(patch)}`;
  return null;
}

/**
 * @param {any} value
 * @param {FieldType} type
 * @returns {boolean}
 */
function fits(value, type) {
  if (type === "int") return Number.isSafeInteger(value);
  if (type === "str") return typeof value === "string";
  if (type === "bool") return typeof value === "boolean";
  const [shape, ...inner] = type;
  if (shape === "list") return Array.isArray(value) && value.every((one) => fits(one, inner[0]));
  if (shape === "tuple") return Array.isArray(value) && value.length === inner.length && inner.every((one, i) => fits(value[i], one));
  return (shape === "maybe" && value === null) || inner.some((one) => fits(value, one));
}

/** Fields with values of enumerations. */
const TERMS = new Set(["change", "how", "repair", "rule", "state", "why"]);

/** A position or a first unstable offset that does not exist. @param {any} value @param {Texts} texts */
const offset = (value, texts) => (value === -1 ? texts.term("none") : undefined);

/**
 * Fields that people write in another way; undefined where they do not.
 * @type {Record<string, (value: any, texts: Texts) => string | undefined>}
 */
const WAYS = {
  from_offset: offset,
  to_offset: offset,
  acks: (value) => (value === -1 ? "all" : undefined),
  requests: (rows) => rows.map((/** @type {string[]} */ row) => row.join(" ")).join(", "),
  entries: (pairs) => pairs.map((/** @type {number[]} */ pair) => pair.join("@")).join(", ") || "—",
};

/**
 * The event as one sentence for people.
 * @param {AnyEvent} event
 * @param {Texts} texts
 * @returns {string}
 */
export function sentence(event, texts) {
  /** @type {Record<string, any>} */
  const data = event.data;
  /** @type {Record<string, string>} */
  const values = {};
  for (const [name, value] of Object.entries(data)) {
    // an alarm of an old recording brings both languages
    const said = (texts.language === "zh-CN" && data[`${name}_zh`]) || value;
    values[name] = TERMS.has(name) && typeof said === "string" ? texts.term(said) : WAYS[name]?.(said, texts) ?? readable(said, texts);
  }
  return texts.text(`event.${event.kind}`, values);
}

/** @param {unknown} value @param {Texts} texts @returns {string} */
function readable(value, texts) {
  if (Array.isArray(value)) return `[${value.map((one) => readable(one, texts)).join(", ")}]`;
  return typeof value === "string" ? texts.render(value) : String(value);
}
