// Pointers of other people over the drawings. Each is held to a thing and moves with it; out of sight it is an arrow at the edge.

import { placeIn } from "./anchors.js";

/** @import { Anchor } from "../core/layout/ink.js" */
/** @import { Framed, Spot } from "./anchors.js" */

export class Pointers {
  dirty = false;
  #layer = document.createElement("div");
  #find;
  /** @type {Map<string, { root: HTMLElement, spot: Spot }>} */
  #shown = new Map();

  /** @param {HTMLElement} host @param {(anchor: Anchor) => Framed | null} find where a thing is now; null: it is not in the drawings */
  constructor(host, find) {
    this.#find = find;
    this.#layer.className = "hw-pointers";
    this.#layer.setAttribute("aria-hidden", "true");
    host.append(this.#layer);
  }

  /** Shows where the presenter points, or hides the pointer.
   * @param {string} who shown beside the pointer
   * @param {Spot | null} spot
   */
  set(who, spot) {
    const before = this.#shown.get(who);
    if (!spot) {
      before?.root.remove();
      this.#shown.delete(who);
      return;
    }
    const root = before?.root ?? this.#layer.appendChild(document.createElement("div"));
    root.className = "hw-pointer";
    root.dataset.who = who;
    this.#shown.set(who, { root, spot });
    this.dirty = true;
  }

  /** Where things are may have changed. */
  note() {
    this.dirty = this.#shown.size > 0;
  }

  draw() {
    for (const { root, spot } of this.#shown.values()) {
      const framed = this.#find(spot.anchor);
      root.hidden = !framed;
      if (!framed) continue;
      const { x, y, out } = placeIn(framed, spot.u, spot.v);
      root.dataset.out = out;
      root.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    }
  }

  destroy() {
    this.#layer.remove();
  }
}
