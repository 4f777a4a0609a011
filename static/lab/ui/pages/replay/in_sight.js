// Keeps the row of the instant in sight: a list scrolls when another row becomes that of the instant, and not otherwise.

/** @type {WeakMap<HTMLElement, Element | null>} */
const shown = new WeakMap();

/** @param {HTMLElement} of an element with a list */
export function keepInSight(of) {
  const list = /** @type {HTMLElement | null} */ (of.querySelector(".instants"));
  const row = /** @type {HTMLElement | null} */ (list?.querySelector("[aria-current='true']") ?? null);
  const isSame = row === (shown.get(of) ?? null);
  shown.set(of, row);
  if (!list || !row || isSame) return;
  const [inner, outer] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) list.scrollTop += inner.top - outer.top - outer.height / 3;
}
