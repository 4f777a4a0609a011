// SVG elements that are kept: attributes are written only when they change.

const NS = "http://www.w3.org/2000/svg";
/** What was written last. @type {WeakMap<Element, Record<string, string>>} */
const written = new WeakMap();

/**
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Element | string)} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(NS, tag));
  set(element, attributes);
  element.append(...children);
  return element;
}

/**
 * Writes those attributes that differ from what was written before.
 * @param {Element} element
 * @param {Record<string, string | number>} attributes
 */
export function set(element, attributes) {
  let known = written.get(element);
  if (!known) written.set(element, (known = {}));
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (known[name] === value) continue;
    known[name] = value;
    element.setAttribute(name, value);
  }
}

/** @param {Element} element @param {string} content */
export function text(element, content) {
  const node = element.firstChild;
  if (node === null) {
    if (content) element.append(content);
  } else if (/** @type {Text} */ (node).data !== content) {
    /** @type {Text} */ (node).data = content;
  }
}

const FLASH_MS = 400;
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Writes a number and lets it flash when it has changed. @param {SVGElement} element @param {string} content */
export function flash(element, content) {
  const changed = element.firstChild !== null && element.textContent !== content;
  text(element, content);
  if (changed && !still.matches) element.animate([{ fill: "var(--select-ink)" }, {}], FLASH_MS);
}

/** Shows or hides without taking out of the tree. @param {Element} element @param {boolean} visible */
export function show(element, visible) {
  set(element, { visibility: visible ? "inherit" : "hidden" });
}

/**
 * Elements by key, the only children of their parent: created with a key, removed with it, kept in order.
 * @template T
 */
export class Keyed {
  /** @type {Map<string, T & { root: Element }>} */
  items = new Map();
  #parent;
  #make;

  /** @param {Element} parent @param {(key: string) => T & { root: Element }} make */
  constructor(parent, make) {
    this.#parent = parent;
    this.#make = make;
  }

  /**
   * Keeps exactly these keys.
   * @param {Iterable<string>} keys
   * @param {(item: T & { root: Element }, key: string, i: number) => void} update
   */
  sync(keys, update) {
    const wanted = new Set(keys);
    for (const [key, item] of this.items)
      if (!wanted.has(key)) {
        item.root.remove();
        this.items.delete(key);
      }
    let i = 0;
    for (const key of wanted) {
      let item = this.items.get(key);
      if (!item) {
        item = this.#make(key);
        this.items.set(key, item);
      }
      if (this.#parent.children[i] !== item.root) this.#parent.insertBefore(item.root, this.#parent.children[i] ?? null);
      update(item, key, i++);
    }
  }
}

/** Roughly how wide a monospaced text of a size is. @param {string} content @param {number} size */
export function monoWidth(content, size) {
  let units = 0;
  for (const char of content) units += char > "\u2e80" ? 1 : 0.6;
  return units * size;
}

/** @type {CanvasRenderingContext2D | null} */
let ruler = null;
let face = "";
/** @type {Map<string, number>} */
let widths = new Map();
const MAX_WIDTHS = 2000;

/** How wide a text is in the interface's face. @param {string} content @param {number} size @param {number} [weight] */
export function uiWidth(content, size, weight = 400) {
  const key = `${weight} ${size} ${content}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (!ruler) {
    ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    face = getComputedStyle(document.documentElement).getPropertyValue("--font-ui");
    document.fonts.ready.then(() => (widths = new Map()));
  }
  ruler.font = `${weight} ${size}px ${face}`;
  const width = ruler.measureText(content).width;
  if (widths.size > MAX_WIDTHS) widths = new Map();
  widths.set(key, width);
  return width;
}

/** A text cut to a width, with an ellipsis. @param {string} content @param {number} width @param {number} size */
export function clip(content, width, size) {
  if (monoWidth(content, size) <= width || uiWidth(content, size) <= width) return content;
  let short = content;
  while (short.length > 1 && uiWidth(`${short}…`, size) > width) short = short.slice(0, -1);
  return `${short.trimEnd()}…`;
}

/**
 * What an element of the picture represents; found again from an event's target.
 * @type {WeakMap<Element, import("../core/view/selectors.js").Target>}
 */
export const targets = new WeakMap();

/** @template {Element} E @param {E} element @param {import("../core/view/selectors.js").Target} target @returns {E} */
export function means(element, target) {
  targets.set(element, target);
  return element;
}

/**
 * The nearest thing that an event's target represents.
 * @param {EventTarget | null} place
 * @returns {import("../core/view/selectors.js").Target | null}
 */
export function meaning(place) {
  for (let element = /** @type {Element | null} */ (place); element; element = element.parentElement) {
    const target = targets.get(element);
    if (target) return target;
  }
  return null;
}
