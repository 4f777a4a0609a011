// Texts on a canvas that do not overlap.

import { LABEL_W } from "../core/layout/spacetime.js";
import { monoWidth } from "./svg.js";

/** @import { Palette } from "./palette.js" */

const MAX_LABELS = 60;
/** Longer texts are cut. */
const MAX_WORDS = 34;
/** Minimum gap between neighbouring texts, and the distance within which the same text is not repeated, px. */
const APART = 8;
const SAID_W = 150;

/**
 * @typedef {{ words: string, gist: string, x: number, y: number, w: number, hue: string, weight: number, bold: boolean }} Label
 */

/** Texts on the picture: the more important ones first, none over another. */
export class Labels {
  /** @type {Label[]} */
  #list = [];
  #context;
  #palette;
  #width;
  #terse;

  /**
   * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {number} width
   * @param {boolean} terse much happens: what is said in passing is said once at a height, where it happened last
   */
  constructor(context, palette, width, terse) {
    this.#context = context;
    this.#palette = palette;
    this.#width = width;
    this.#terse = terse;
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   * @param {string} hue
   * @param {number} weight
   * @param {boolean} bold
   * @param {boolean} passing
   */
  add(words, x, y, hue, weight, bold, passing) {
    const said = words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS - 1)}…` : words;
    const w = monoWidth(said, 9.3) + 4;
    const left = Math.max(LABEL_W + 2, Math.min(x, this.#width - w - 2));
    const gist = this.#terse && passing ? words.replace(/\d+/g, "") : "";
    this.#list.push({ words: said, gist, x: left, y, w, hue, weight, bold });
  }

  draw() {
    const context = this.#context;
    /** @type {Label[]} */
    const taken = [];
    this.#list.sort((a, b) => b.weight - a.weight || (this.#terse ? b.x - a.x : 0));
    for (const label of this.#list) {
      if (taken.length >= MAX_LABELS) break;
      const { words, gist, x, y, w, hue, bold } = label;
      if (taken.some((one) => Math.abs(one.y - y) < 10 && x < one.x + one.w + APART && x + w + APART > one.x)) continue;
      if (!bold && taken.some((one) => one.words === words && Math.abs(one.y - y) < 4 && Math.abs(one.x - x) < SAID_W)) continue;
      if (!bold && gist && taken.some((one) => one.gist === gist && Math.abs(one.y - y) < 10)) continue;
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
