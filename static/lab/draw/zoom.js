// The projector size enlarges the whole page by `zoom`. Drawings are laid out in the px of the page, so the places of the pointer
// and of elements, which the browser gives in px of the window, are converted here.

/** @import { Box } from "../core/layout/ink.js" */

/** Px of the window for a px of the page. */
export const zoom = () => document.documentElement.currentCSSZoom ?? 1;

/** Where an element is in the window, in px of the page. @param {Element} element @returns {Box} */
export function boxOf(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  const scale = zoom();
  return { x: left / scale, y: top / scale, w: width / scale, h: height / scale };
}

/** Where the pointer is in the window, in px of the page. @param {MouseEvent} event @returns {{ x: number, y: number }} */
export const pointOf = ({ clientX, clientY }) => ({ x: clientX / zoom(), y: clientY / zoom() });

/** The element at a place in px of the page. @param {number} x @param {number} y */
export const elementAt = (x, y) => document.elementFromPoint(x * zoom(), y * zoom());
