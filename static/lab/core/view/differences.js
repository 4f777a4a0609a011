// How a value of the view differs from what was there before, for one line of the inspector.

import { keysOf } from "./patch.js";

/** How much of what is the same is shown before a difference of long texts. */
const MAX_SAME = 20;

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * Whether a write has changed anything shown. A confirmed remote log end offset has not, only its time: "0 → 0" would be confusing.
 * @param {string} pointer @param {any} before @param {any} now
 */
export function isMeaningful(pointer, before, now) {
  const keys = keysOf(pointer);
  if (keys[2] === "remotes" && keys.length === 4 && before && now) return before.log_end_offset !== now.log_end_offset;
  return JSON.stringify(before) !== JSON.stringify(now);
}

/** The object that a text says as JSON, such as the data of a znode; other texts unchanged. @param {string} text @returns {any} */
function parsed(text) {
  if (!text.startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * What differs between two values: [field, before, now] for each field of an object, and with an empty field for texts.
 * Objects that read the same differ in their own fields, and texts with JSON in those of the JSON.
 * @param {any} before @param {any} now @param {(value: any) => string} read @param {number} most characters of a text
 * @returns {[string, any, any][]}
 */
export function differing(before, now, read, most) {
  let [a, b] = [parsed(read(before)), parsed(read(now))];
  if (a === b) [a, b] = [before, now];
  if (!isObject(a) || !isObject(b)) return [["", ...contrast(read(before), read(now), most)]];
  return fields(a, b);
}

/** @param {string} name @param {any} before @param {any} now @returns {[string, any, any]} */
const named = (name, before, now) => [name, before, now];

/**
 * The fields that differ, those of objects in both with the names of both: `config retention.ms`.
 * @param {Record<string, any>} a @param {Record<string, any>} b
 * @returns {[string, any, any][]}
 */
function fields(a, b) {
  return Object.keys({ ...a, ...b }).filter((key) => JSON.stringify(a[key]) !== JSON.stringify(b[key])).flatMap((key) =>
    isObject(a[key]) && isObject(b[key]) ? fields(a[key], b[key]).map(([part, was, is]) => named(`${key} ${part}`, was, is))
      : [named(key, a[key], b[key])]);
}

/**
 * Two texts, longer ones from a little before they part.
 * @param {string} a @param {string} b @param {number} most
 * @returns {[string, string]}
 */
function contrast(a, b, most) {
  if (Math.max(a.length, b.length) <= most) return [a, b];
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++;
  const from = same - MAX_SAME;
  return from > 1 ? [`…${a.slice(from)}`, `…${b.slice(from)}`] : [a, b];
}
