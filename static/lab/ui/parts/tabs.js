// Moving through a list of tabs by keyboard.

/**
 * Arrow keys, Home and End walk a list of tabs.
 * @template {string} T
 * @param {KeyboardEvent} event
 * @param {readonly T[]} names
 * @param {T} current
 * @param {(name: T) => void} choose
 */
export function walkTabs(event, names, current, choose) {
  const place = names.indexOf(current);
  const next = new Map([["ArrowRight", place + 1], ["ArrowLeft", place - 1], ["Home", 0], ["End", names.length - 1]]).get(event.key);
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const list = /** @type {Element} */ (event.currentTarget);
  choose(names[(next + names.length) % names.length]);
  requestAnimationFrame(() => /** @type {HTMLElement | null} */ (list.querySelector("[aria-selected=true]"))?.focus());
}
