// How a value of the view differs from what was there before, for one line of the inspector.

import { keysOf } from "./patch.js";

/** How much of what is the same is shown before a difference, when it does not begin with a field. */
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

/**
 * Two values as texts in which one sees what differs: objects that read the same as their fields that do not, texts longer than `most`
 * characters from the field in which they part.
 * @param {any} before @param {any} now @param {(value: any) => string} read @param {number} most
 * @returns {[string, string]}
 */
export function contrast(before, now, read, most) {
  let [a, b] = [read(before), read(now)];
  if (a === b && isObject(before) && isObject(now)) {
    const fields = Object.keys({ ...before, ...now }).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(now[key]));
    const those = (/** @type {any} */ one) => JSON.stringify(Object.fromEntries(fields.map((key) => [key, one[key]])));
    [a, b] = [those(before), those(now)];
  }
  if (Math.max(a.length, b.length) <= most) return [a, b];
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++;
  const field = Math.max(a.lastIndexOf(',"', same), a.lastIndexOf('{"', same)) + 1;
  const from = Math.max(field, same - MAX_SAME);
  return from > 1 ? [`…${a.slice(from)}`, `…${b.slice(from)}`] : [a, b];
}
