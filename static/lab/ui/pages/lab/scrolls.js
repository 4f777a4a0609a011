// Remembers scroll positions, to restore them after other contents were shown.

/** How long to wait for the height of contents that are fetched again, ms. */
const PATIENCE_MS = 3000;

/** A selector of an element by its path from the nearest one with an id. @param {Element} element @returns {string} */
function pathOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const { parentElement: parent, localName } = element;
  if (!parent) return localName;
  const place = [...parent.children].filter((one) => one.localName === localName).indexOf(element) + 1;
  return `${pathOf(parent)} > ${localName}:nth-of-type(${place})`;
}

/**
 * Remembers the scroll positions within an element.
 * @param {HTMLElement} root
 * @returns {() => void} restores them as soon as the contents are long enough
 */
export function scrolls(root) {
  const places = [...root.querySelectorAll("*")].filter(({ scrollTop, scrollLeft }) => scrollTop || scrollLeft)
    .map((element) => ({ path: pathOf(element), top: element.scrollTop, left: element.scrollLeft }));
  return () => {
    const until = performance.now() + PATIENCE_MS;
    const stop = new AbortController();
    // If the user scrolls meanwhile, nothing is restored.
    for (const kind of ["wheel", "pointerdown", "keydown"]) addEventListener(kind, () => stop.abort(), { once: true, signal: stop.signal });
    let left = places;
    const put = () => {
      if (stop.signal.aborted) return;
      left = left.filter(({ path, top, left: across }) => {
        const element = document.querySelector(path);
        element?.scrollTo({ top, left: across, behavior: "instant" });
        return !element || Math.abs(element.scrollTop - top) > 1;
      });
      if (left.length && performance.now() < until) requestAnimationFrame(put);
      else stop.abort();
    };
    put();
  };
}
