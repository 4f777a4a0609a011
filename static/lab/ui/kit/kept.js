// What the browser keeps for the page between visits. A value that is damaged, or of another form, counts as none.

/**
 * The value that is kept under a name.
 * @template T
 * @param {string} name
 * @param {(value: unknown) => value is T} isValid
 * @param {T} otherwise used if there is no valid one
 * @returns {T}
 */
export function kept(name, isValid, otherwise) {
  try {
    const value = JSON.parse(localStorage.getItem(name) ?? "null");
    return isValid(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

/** Keeps a value, if the browser lets the page. @param {string} name @param {unknown} value */
export function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Without storage, or with a full one, the page works all the same and forgets.
  }
}

/** @param {unknown} value @returns {value is string[]} */
export const isListOfStrings = (value) => Array.isArray(value) && value.every((one) => typeof one === "string");

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
