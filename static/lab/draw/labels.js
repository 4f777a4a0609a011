// Texts on a canvas that do not lie over each other.

import { LABEL_W } from "../core/layout/spacetime.js";
import { monoWidth } from "./svg.js";

/** @import { Palette } from "./palette.js" */

const LABELS_MAX = 60;

/** Texts on the picture: the more important ones first, none over another. */
export class Labels {
  /** @type {{ words: string, x: number, y: number, w: number, hue: string, weight: number, bold: boolean }[]} */
  #list = [];
  #context;
  #palette;
  #width;

  /** @param {CanvasRenderingContext2D} context @param {Palette} palette @param {number} width */
  constructor(context, palette, width) {
    this.#context = context;
    this.#palette = palette;
    this.#width = width;
  }

  /** @param {string} words @param {number} x @param {number} y @param {string} hue @param {number} weight @param {boolean} bold */
  add(words, x, y, hue, weight, bold) {
    const w = monoWidth(words, 9.3) + 4;
    const left = Math.max(LABEL_W + 2, Math.min(x, this.#width - w - 2));
    this.#list.push({ words, x: left, y, w, hue, weight, bold });
  }

  draw() {
    const context = this.#context;
    /** @type {{ x: number, y: number, w: number }[]} */
    const taken = [];
    this.#list.sort((a, b) => b.weight - a.weight);
    for (const label of this.#list) {
      if (taken.length >= LABELS_MAX) break;
      const { words, x, y, w, hue, bold } = label;
      if (taken.some((one) => Math.abs(one.y - y) < 10 && x < one.x + one.w && x + w > one.x)) continue;
      taken.push(label);
      context.globalAlpha = 0.88;
      context.fillStyle = this.#palette.panel;
      context.fillRect(x - 2, y - 8.5, w, 11);
      context.globalAlpha = 1;
      context.font = `${bold ? 700 : 500} 9.3px ${this.#palette.mono}`;
      context.textAlign = "left";
      context.fillStyle = hue;
      context.fillText(words, x, y);
    }
  }
}
