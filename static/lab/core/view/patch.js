// Patches of the view: a list of [pointer, value]; a pair without value removes. Arrays are replaced whole.

/** @import { Patch } from "../events/events.d.ts" */

/**
 * The keys of a JSON pointer: "/zk/~1controller/data" -> ["zk", "/controller", "data"].
 * @param {string} pointer
 * @returns {string[]}
 */
export function keysOf(pointer) {
  const keys = pointer.slice(1).split("/");
  if (pointer.includes("~"))
    for (let i = 0; i < keys.length; i++) keys[i] = keys[i].replaceAll("~1", "/").replaceAll("~0", "~");
  return keys;
}

/**
 * A value of a patch as the view may own it. Objects are copied, because later patches write into them and the patch
 * may be applied again; arrays are shared, because arrays are never written to.
 * @param {any} value
 * @returns {any}
 */
export function own(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const copy = { ...value };
  for (const key in copy) if (typeof copy[key] === "object") copy[key] = own(copy[key]);
  return copy;
}

/**
 * Applies a patch to a view in place.
 * @param {Record<string, any>} view
 * @param {Patch} patch
 * @param {Set<string>} [touched] takes the first two keys of each path written, as "replicas/orders-0@b1"
 * @returns {Patch} the inverse: applied in the same way it undoes this patch, and its values are those from before
 * @throws {RangeError} when a path leads through something that is not there: the view is not the one the patch is for
 */
export function apply(view, patch, touched) {
  /** @type {Patch} */
  const inverse = [];
  for (const change of patch) {
    const pointer = change[0];
    const keys = keysOf(pointer);
    const last = keys.length - 1;
    let parent = view;
    for (let i = 0; i < last; i++) {
      parent = parent[keys[i]];
      if (parent === undefined || parent === null || typeof parent !== "object" || Array.isArray(parent))
        throw new RangeError(`patch of ${pointer}: the view has no object at /${keys.slice(0, i + 1).join("/")}`);
    }
    const key = keys[last];
    const before = parent[key];
    if (change.length === 1) {
      if (before === undefined) continue;
      delete parent[key];
    } else {
      parent[key] = own(change[1]);
    }
    inverse.push(before === undefined ? [pointer] : [pointer, before]);
    touched?.add(last === 0 ? keys[0] : `${keys[0]}/${keys[1]}`);
  }
  return inverse.reverse();
}

/**
 * The value at a pointer, undefined when there is none.
 * @param {Record<string, any>} view
 * @param {string} pointer
 * @returns {any}
 */
export function at(view, pointer) {
  /** @type {any} */
  let value = view;
  for (const key of keysOf(pointer)) {
    if (value === null || typeof value !== "object") return undefined;
    value = value[key];
  }
  return value;
}
