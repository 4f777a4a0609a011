// The cells of a partition's lanes, on a canvas below them. As elements, two hundred digits would cost the page more than the rest of a
// frame.

import { CELL_H, cellState, cutEnd } from "../core/layout/strips.js";
import { epochAt } from "../core/view/selectors.js";
import { zoom } from "./zoom.js";

/** @import { CellState, Lane, PartitionPlace, StripsLayout } from "../core/layout/strips.js" */
/** @import { Role } from "../core/view/selectors.js" */
/** @import { Palette } from "./palette.js" */

/** Cells of a smaller pitch than this have no digits. */
const PITCH_OF_DIGITS = 12;
/** How much of its colour a committed cell has. */
const FILLED = { leader: 0.36, follower: 0.31 };
const CONTRAST = matchMedia("(prefers-contrast: more), (forced-colors: active)");

/** @typedef {{ offset: number, x: number }} Cell x: left edge on the canvas */

export class Cells {
  root = document.createElement("canvas");
  #context = /** @type {CanvasRenderingContext2D} */ (this.root.getContext("2d"));
  /** What the canvas was sized for. */
  #frame = "";
  /** @type {Palette | null} */
  #palette = null;
  /** What each lane shows. @type {string[]} */
  #shown = [];
  #ratio = 1;
  /** Of the digits. To set a font has the browser work out all styles that are out of date: it is set when it changes. */
  #font = "";

  constructor() {
    this.root.className = "hw-cells";
  }

  /**
   * Redraws the lanes whose contents have changed.
   * @param {Palette} palette
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {number} at_us
   */
  update(palette, layout, place, at_us) {
    const top = place.lanes[0].cell_y;
    this.#fit(palette, layout, place, top);
    place.lanes.forEach((lane, i) => {
      const shows = shownBy(lane, place.first, at_us);
      if (shows === this.#shown[i]) return;
      this.#shown[i] = shows;
      this.#drawLane(palette, layout, place.first, lane, lane.cell_y - top, at_us);
    });
  }

  /**
   * Position and size of the canvas; its content is cleared when they change.
   * @param {Palette} palette
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {number} top
   */
  #fit(palette, { x0, slots, pitch }, { lanes, first }, top) {
    const { style, dataset } = this.root;
    if (dataset.first !== String(first)) dataset.first = String(first);
    const width = Math.ceil(slots * pitch);
    const height = lanes[lanes.length - 1].cell_y + CELL_H - top;
    const ratio = (devicePixelRatio || 1) * zoom();
    const frame = `${x0} ${top} ${width} ${height} ${pitch} ${ratio} ${CONTRAST.matches} ${lanes.length}`;
    if (frame === this.#frame && palette === this.#palette) return;
    this.#frame = frame;
    this.#palette = palette;
    this.#shown = [];
    dataset.pitch = String(pitch);
    Object.assign(style, { left: `${x0}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    this.root.width = Math.round(width * ratio);
    this.root.height = Math.round(height * ratio);
    this.#ratio = ratio;
    this.#font = "";
    this.#context.textAlign = "center";
  }

  /**
   * @param {Palette} palette
   * @param {StripsLayout} layout
   * @param {number} first
   * @param {Lane} lane
   * @param {number} y
   * @param {number} at_us
   */
  #drawLane(palette, { slots, pitch }, first, lane, y, at_us) {
    const { role, replica } = lane;
    /** @type {Record<CellState, Cell[]>} */
    const cells = { committed: [], open: [], truncated: [], deleted: [], free: [] };
    for (let slot = 0; slot < slots; slot++) {
      const offset = first + slot;
      cells[cellState(lane, offset, at_us)].push({ offset, x: slot * pitch });
    }
    const context = this.#context;
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, y * this.#ratio);
    context.clearRect(0, 0, slots * pitch, CELL_H);
    const large = pitch > PITCH_OF_DIGITS;
    const w = large ? pitch - 2 : pitch - 1;
    const ink = inkOf(palette, role);
    const filled = role === "leader" ? FILLED.leader : FILLED.follower;
    this.#plates(cells.committed, w, large, [], { fill: [ink.fill, filled], stroke: [ink.edge, CONTRAST.matches ? 1 : 0.28] });
    this.#plates(cells.open, w, large, [3, 2], { fill: [ink.fill, 0.07], stroke: [ink.edge, 0.95] });
    this.#plates(cells.truncated, w, large, [3, 2], { stroke: [palette.danger, 1] });
    this.#plates(cells.deleted, w, large, [2, 2], { stroke: [palette.line2, 1] });
    this.#dots(cells.free, w, palette.ink4);
    this.#bands([...cells.committed, ...cells.open], w, large, palette, replica?.epochs ?? []);
    if (large) {
      this.#digits(cells.committed, pitch, palette.mono, palette.ink, 0.86);
      this.#digits(cells.open, pitch, palette.mono, ink.text, 1);
      this.#digits(cells.truncated, pitch, palette.mono, palette["danger-ink"], 1);
    }
    this.#strikes(cells.truncated, w, palette.danger);
  }

  /**
   * @param {Cell[]} cells
   * @param {number} w
   * @param {boolean} large
   * @param {number[]} dash
   * @param {{ fill?: [string, number], stroke: [string, number] }} inks colour and opacity
   */
  #plates(cells, w, large, dash, { fill, stroke }) {
    if (!cells.length) return;
    const context = this.#context;
    context.beginPath();
    for (const { x } of cells) context.roundRect(x + 0.5, 0.5, w - 1, CELL_H - 1, large ? 3 : 1.5);
    if (fill) {
      [context.fillStyle, context.globalAlpha] = fill;
      context.fill();
    }
    context.setLineDash(dash);
    context.lineWidth = 1;
    [context.strokeStyle, context.globalAlpha] = stroke;
    context.stroke();
  }

  /** Offsets without a record. @param {Cell[]} cells @param {number} w @param {string} colour */
  #dots(cells, w, colour) {
    const context = this.#context;
    context.beginPath();
    for (const { x } of cells) {
      context.moveTo(x + w / 2, CELL_H / 2 + 0.5);
      context.arc(x + w / 2, CELL_H / 2 + 0.5, 0.8, 0, 7);
    }
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.fill();
  }

  /**
   * The epoch of each record, by its parity.
   * @param {Cell[]} cells
   * @param {number} w
   * @param {boolean} large
   * @param {Palette} palette
   * @param {[number, number][]} epochs
   */
  #bands(cells, w, large, palette, epochs) {
    const context = this.#context;
    context.globalAlpha = 1;
    for (const parity of [0, 1]) {
      context.beginPath();
      for (const { offset, x } of cells)
        if (Math.max(0, epochAt(epochs, offset)) % 2 === parity) context.roundRect(x + (large ? 2.5 : 1), CELL_H - 3.6,
          Math.max(2, w - (large ? 5 : 2)), 2, 1);
      context.fillStyle = palette[parity ? "ep1" : "ep0"];
      context.fill();
    }
  }

  /** @param {Cell[]} cells @param {number} pitch @param {string} face @param {string} colour @param {number} opacity */
  #digits(cells, pitch, face, colour, opacity) {
    const context = this.#context;
    context.globalAlpha = opacity;
    context.fillStyle = colour;
    for (const { offset, x } of cells) {
      const words = String(offset);
      const font = `${words.length > 4 ? 6.6 : words.length > 3 ? 7.8 : 9.5}px ${face}`;
      if (font !== this.#font) context.font = this.#font = font;
      context.fillText(words, x + pitch / 2 - 1, 12.6);
    }
  }

  /** @param {Cell[]} cells @param {number} w @param {string} colour */
  #strikes(cells, w, colour) {
    if (!cells.length) return;
    const context = this.#context;
    context.beginPath();
    for (const { x } of cells) {
      context.moveTo(x + 3, CELL_H - 4);
      context.lineTo(x + w - 3, 4);
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    context.stroke();
  }
}

/** All that the cells of a lane are drawn from. @param {Lane} lane @param {number} first @param {number} at_us */
function shownBy({ role, replica, end }, first, at_us) {
  if (!replica) return `${role} ${first}`;
  const { log_start_offset, log_end_offset, high_watermark, epochs } = replica;
  return `${role} ${first} ${log_start_offset} ${log_end_offset} ${end} ${high_watermark} ${cutEnd(replica, at_us)} ${epochs}`;
}

/** Of fills, edges and digits. @param {Palette} palette @param {Role} role */
function inkOf(palette, role) {
  const hue = role === "leader" || role === "outisr" || role === "offline" ? role : "isr";
  return { fill: role === "leader" ? palette["leader-fill"] : palette[hue], edge: palette[hue], text: palette[`${hue}-ink`] };
}
