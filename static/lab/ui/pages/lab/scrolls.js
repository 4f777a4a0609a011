// Where the scrolled elements of the page are, to put them back after other contents were shown in them.

/** What is shown again may have to be fetched: so long its height is waited for, ms. */
const PATIENCE_MS = 3000;

/** A selector of an element by its place below the nearest one with an id. @param {Element} element @returns {string} */
function pathOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const { parentElement: parent, localName } = element;
  if (!parent) return localName;
  const place = [...parent.children].filter((one) => one.localName === localName).indexOf(element) + 1;
  return `${pathOf(parent)} > ${localName}:nth-of-type(${place})`;
}

/**
 * Remembers how far everything in an element is scrolled.
 * @param {HTMLElement} root
 * @returns {() => void} puts it back, as soon as the contents are as long again
 */
export function scrolls(root) {
  const places = [...root.querySelectorAll("*")].filter(({ scrollTop, scrollLeft }) => scrollTop || scrollLeft)
    .map((element) => ({ path: pathOf(element), top: element.scrollTop, left: element.scrollLeft }));
  return () => {
    const until = performance.now() + PATIENCE_MS;
    const stop = new AbortController();
    // Who scrolls meanwhile is left alone.
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
