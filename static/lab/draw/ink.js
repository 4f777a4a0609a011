// Strokes over the drawings. Each is held to a thing: it moves, grows and goes out of sight with it.

import { PARTS, anchorOf, unitOf } from "../core/layout/ink.js";

/** @import { Anchor, Box, Point, Stroke } from "../core/layout/ink.js" */
/** @import { Framed } from "./anchors.js" */

const SVG = "http://www.w3.org/2000/svg";

export class Ink {
  dirty = false;
  #layer = document.createElement("div");
  #find;
  #clip;
  /** @type {Map<string, { svg: SVGElement, line: SVGElement, anchor: Anchor, points: Point[] }>} */
  #shown = new Map();

  /**
   * @param {HTMLElement} host
   * @param {(anchor: Anchor) => Framed | null} find where a thing is now; null: it is not in the drawings
   * @param {(anchor: Anchor) => Box} clip the drawing that a thing is in
   */
  constructor(host, find, clip) {
    this.#find = find;
    this.#clip = clip;
    this.#layer.className = "hw-ink";
    this.#layer.setAttribute("aria-hidden", "true");
    host.append(this.#layer);
  }

  /** Shows these strokes, by number, and no others. @param {Record<string, Stroke>} strokes */
  set(strokes) {
    for (const [number, { svg }] of this.#shown) {
      if (number in strokes) continue;
      svg.remove();
      this.#shown.delete(number);
    }
    for (const [number, { anchor: text, points }] of Object.entries(strokes)) {
      const anchor = anchorOf(text);
      if (!anchor || this.#shown.has(number)) continue;
      this.#shown.set(number, { ...this.#element(), anchor, points });
    }
    this.dirty = true;
  }

  /** A stroke while it is drawn, in client pixels; without points it is over. @param {Point[]} points */
  sketch(points) {
    const found = this.#layer.querySelector(".sketch");
    if (!points.length) return found?.remove();
    const svg = found ?? this.#element().svg;
    svg.classList.add("sketch");
    svg.firstElementChild?.setAttribute("points", points.map((point) => point.join()).join(" "));
    return undefined;
  }

  #element() {
    const svg = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "polyline");
    svg.append(line);
    this.#layer.append(svg);
    return { svg, line };
  }

  /** Where things are may have changed. */
  note() {
    this.dirty = this.#shown.size > 0;
  }

  draw() {
    for (const { svg, line, anchor, points } of this.#shown.values()) {
      const framed = this.#find(anchor);
      const isSeen = framed !== null && isWithin(framed);
      svg.style.display = isSeen ? "" : "none";
      if (!framed || !isSeen) continue;
      const clip = this.#clip(anchor);
      Object.assign(svg.style, { left: `${clip.x}px`, top: `${clip.y}px`, width: `${clip.w}px`, height: `${clip.h}px` });
      const { w, h } = unitOf(framed.box);
      const places = points.map(([u, v]) =>
        `${(framed.box.x - clip.x + (u * w) / PARTS).toFixed(1)},${(framed.box.y - clip.y + (v * h) / PARTS).toFixed(1)}`);
      line.setAttribute("points", (places.length === 1 ? [...places, places[0]] : places).join(" "));
    }
  }

  destroy() {
    this.#layer.remove();
  }
}

/** Whether the middle of a thing can be seen. @param {Framed} framed */
function isWithin({ box, frame }) {
  const [x, y] = [box.x + box.w / 2, box.y + box.h / 2];
  return x >= frame.x && x <= frame.x + frame.w && y >= frame.y && y <= frame.y + frame.h;
}
