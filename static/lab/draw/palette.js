// The colours of tokens.css for canvases, read once per theme, and the strokes that drawings on canvases share.

import { zoom } from "./zoom.js";

const NAMES = [
  "bg", "panel", "raise", "raise2", "line", "line2", "ink", "ink2", "ink3", "ink4", "leader", "leader-fill", "leader-ink",
  "isr", "isr-ink", "outisr", "outisr-ink", "offline", "offline-ink", "ep0", "ep1", "danger", "danger-ink", "select",
  "select-ink", "produce", "fetch", "control", "group", "zk", "primary", "primary-ink",
];

/** @typedef {Record<string, string>} Palette */

/** @param {Element} element inside the themed page @returns {Palette} */
export function readPalette(element) {
  const style = getComputedStyle(element);
  const [mono, ui] = ["--font-mono", "--font-ui"].map((name) => style.getPropertyValue(name).trim());
  return { mono, ui, ...readColours(element, NAMES) };
}

/**
 * Colours of the theme in numbers, as canvases and charts take them, also where the visitor's system chooses them.
 * @param {Element} element inside the themed page @param {string[]} names without the two dashes @returns {Record<string, string>}
 */
export function readColours(element, names) {
  const probe = element.appendChild(document.createElement("i"));
  const colours = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(colours);
}

/** Notifies of changed colours or fonts: after a change of theme or contrast, or when a font has been loaded.
 * @param {() => void} listener @param {AddEventListenerOptions} [until] `signal` ends it
 */
export function onNewColours(listener, until) {
  addEventListener("themechange", listener, until);
  for (const media of ["(prefers-contrast: more)", "(forced-colors: active)", "(prefers-color-scheme: dark)"])
    matchMedia(media).addEventListener("change", listener, until);
  document.fonts.addEventListener("loadingdone", listener, until);
}

/**
 * Sizes a canvas to its box in device pixels and gives a context in CSS pixels, cleared.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function begin(canvas, width, height) {
  const ratio = (devicePixelRatio || 1) * zoom();
  const w = Math.round(width * ratio);
  const h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/**
 * Diagonal lines over a box.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {string} colour
 */
export function hatch(context, x, y, w, h, colour) {
  if (w <= 0 || h <= 0) return;
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.beginPath();
  for (let i = Math.floor((x - h) / 9) * 9; i < x + w; i += 9) {
    context.moveTo(i, y + h);
    context.lineTo(i + h, y);
  }
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.stroke();
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
export function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} r @param {string} hue */
export function dot(context, x, y, r, hue) {
  context.beginPath();
  context.arc(x, y, r, 0, 7);
  context.fillStyle = hue;
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} r
 * @param {string} hue
 * @param {string | null} fill
 */
export function ring(context, x, y, r, hue, fill) {
  context.beginPath();
  context.arc(x, y, r, 0, 7);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  context.strokeStyle = hue;
  context.lineWidth = 1.2;
  context.stroke();
}
