// The whole run as a row on a canvas: how much happened when, its marks, the window of the picture below, the future.

import { densityBars, densityScale, placeMarks } from "../core/layout/density.js";
import { LABEL_W } from "../core/layout/spacetime.js";
import { markWords } from "../core/recording/marks.js";
import { begin, hatch } from "./palette.js";
import { uiWidth } from "./svg.js";
import { boxOf, pointOf } from "./zoom.js";

/** @import { Texts } from "../core/texts.js" */
/** @import { Change } from "../core/view/changes.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { Mark } from "../core/recording/recording.js" */
/** @import { Palette } from "./palette.js" */
/** @import { TimeMover } from "./spacetime.js" */
/** @import { Translate } from "../core/texts.js" */

export const DENSITY_H = 34;
const BASE = 30;
const MAX_LABEL = 36;
/** While time runs the row is drawn at this interval, ms. */
const EVERY_MS = 500;
/** Pixels between a press and a mark that count as the mark. */
const NEAR = 4;

export class Density {
  dirty = true;
  #player;
  #time;
  #t;
  #texts;
  #palette;
  #canvas = document.createElement("canvas");
  #width = 800;
  /** Whether a change has to be shown immediately. */
  #urgent = true;

  /**
   * @param {HTMLElement} host @param {Player} player @param {TimeMover} time
   * @param {Translate} t @param {Texts} texts @param {Palette} palette
   */
  constructor(host, player, time, t, texts, palette) {
    this.#player = player;
    this.#time = time;
    this.#t = t;
    this.#texts = texts;
    this.#palette = palette;
    this.#canvas.className = "hw-density";
    host.append(this.#canvas);
    this.#listen();
  }

  /** @param {number} width */
  resize(width) {
    this.#width = width;
    this.#redraw();
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.#palette = palette;
    this.#redraw();
  }

  #redraw() {
    this.#urgent = this.dirty = true;
  }

  get pace_ms() {
    return this.#player.mode === "play" && !this.#urgent ? EVERY_MS : 0;
  }

  /** @param {Change} change */
  note({ what }) {
    if (what.has("index") || what.has("mode")) this.#redraw();
    if (what.has("time") || what.has("live")) this.dirty = true;
  }

  draw() {
    const { index, at_us, live_at_us, first_us, isPast } = this.#player;
    this.#urgent = false;
    const p = this.#palette;
    const now_us = Math.max(live_at_us, at_us);
    const map = densityScale(now_us, this.#width, first_us);
    const context = begin(this.#canvas, this.#width, DENSITY_H);
    context.font = `10.5px ${p.ui}`;
    context.fillStyle = p.ink3;
    context.textAlign = "left";
    context.fillText(this.#t(index?.first_at_us !== undefined ? "draw.excerpt" : "draw.whole_run"), 12, 20, LABEL_W - 14);
    if (index) {
      for (const { x, w, part } of densityBars(index.density, map, this.#width, now_us)) {
        if (part === 0) continue;
        const h = 2 + part * 16;
        context.fillStyle = p.fetch;
        context.globalAlpha = 0.3;
        context.fillRect(x, BASE - h, w, h);
        context.fillStyle = p.produce;
        context.globalAlpha = 0.45;
        context.fillRect(x, BASE - h, w, h * 0.3);
      }
      context.globalAlpha = 1;
    }
    const now_x = map.x(now_us);
    hatch(context, now_x, 3, this.#width - now_x, 27, p.raise2);
    if (index) this.#drawMarks(context, index.marks, map);
    const x = map.x(at_us);
    context.strokeStyle = isPast ? p.select : p.primary;
    context.lineWidth = 1.6;
    context.beginPath();
    context.roundRect(x - 4, 1.5, 9, 29, 3);
    context.stroke();
    return false;
  }

  /** @param {CanvasRenderingContext2D} context @param {Mark[]} marks @param {import("../core/player/timemap.js").Scale} map */
  #drawMarks(context, marks, map) {
    const p = this.#palette;
    for (const { mark, x, labelled, flip } of placeMarks(marks, map, (one) => uiWidth(this.#words(one), 9.3, 600), this.#width)) {
      const hue = p[HUES[mark.kind] ?? "ink3"];
      context.globalAlpha = labelled ? 1 : 0.6;
      context.fillStyle = hue;
      context.fillRect(x - 0.6, 3, 1.2, 27);
      context.globalAlpha = 1;
      if (!labelled) continue;
      context.font = `600 9.3px ${p.ui}`;
      context.textAlign = flip ? "right" : "left";
      context.lineWidth = 3;
      context.strokeStyle = p.panel;
      context.strokeText(this.#words(mark), x + (flip ? -4 : 4), 11);
      context.fillStyle = hue;
      context.fillText(this.#words(mark), x + (flip ? -4 : 4), 11);
    }
  }

  /** @param {Mark} mark */
  #words(mark) {
    const words = markWords(mark, this.#texts);
    return words.length > MAX_LABEL ? `${words.slice(0, MAX_LABEL - 1)}…` : words;
  }

  #listen() {
    const canvas = this.#canvas;
    /** @param {PointerEvent} event */
    const seek = (event) => {
      const { at_us, mark } = this.#under(event);
      if (mark && event.type === "pointerdown") this.#time.seekSeq(mark.seq);
      else this.#time.seek(at_us);
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) seek(event);
      else {
        const { mark } = this.#under(event);
        canvas.title = mark ? markWords(mark, this.#texts) : "";
      }
    });
  }

  /** The instant and the mark under the pointer. @param {PointerEvent} event */
  #under(event) {
    const { index, live_at_us, at_us, first_us } = this.#player;
    const map = densityScale(Math.max(live_at_us, at_us), this.#width, first_us);
    const x = Math.max(LABEL_W, pointOf(event).x - boxOf(this.#canvas).x);
    return { at_us: Math.round(map.at(x)), mark: index?.marks.find((one) => Math.abs(map.x(one.at_us) - x) < NEAR) };
  }
}

/** @type {Record<string, string>} */
const HUES = { BrokerStopped: "danger-ink", BrokerExiting: "danger-ink", BrokerFrozen: "danger-ink", ClientFrozen: "danger-ink",
  LinkCut: "danger-ink", LinkCutOneWay: "danger-ink", LogTruncated: "danger-ink",
  InvariantViolated: "danger-ink", LeaderElected: "control", ControllerElected: "control", IsrShrunk: "outisr", IsrExpanded: "isr",
  Bookmark: "select-ink" };
