// The replica strips: all replicas of a partition on one offset axis. Only partitions that were touched are patched.

import { CELL_H, layoutStrips, offsetAt, offsetX, rangesOf, summary } from "../core/layout/strips.js";
import { footprint, splitRecord } from "../core/view/selectors.js";
import { Cells } from "./cells.js";
import { PartitionDrawing } from "./partition.js";
import { Keyed, s, set } from "./svg.js";
import { boxOf, pointOf } from "./zoom.js";

/** @import { Change } from "../core/view/changes.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { Camera, Lane, PartitionPlace, Ranges, StripsLayout } from "../core/layout/strips.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { Framed } from "./anchors.js" */
/** @import { Palette } from "./palette.js" */
/** @import { Translate } from "../core/texts.js" */

/** While only the clock advances, the times since caught up are written at this interval, ms. */
const CLOCK_MS = 100;

export class Strips {
  dirty = true;
  /** @type {Target | null} */
  selected = null;
  /** A record that is pointed at elsewhere. @type {Target | null} */
  pointed = null;
  /** @type {string | null} */
  topic = null;
  /** Whether a person may move the axes now; asked before each time. @type {() => boolean} */
  mayPan = () => true;
  /** What is drawn over the lanes, if anything. @type {{ root: SVGElement, draw: (layout: StripsLayout) => void } | null} */
  #over = null;
  /** @type {Camera} */
  camera = { first: {}, open: null, small: false };

  #player;
  #t;
  #palette;
  #width = 784;
  #svg = s("svg", { class: "hw-strips", role: "group" });
  /** @type {Keyed<PartitionDrawing>} */
  #partitions;
  /** Of the partitions that are open. @type {Keyed<Cells>} */
  #cells;
  /** @type {StripsLayout | null} */
  #layout = null;
  /** Partitions to patch; null: all. @type {Set<string> | null} */
  #touched = null;
  #ticked_ms = 0;
  #drawn_ms = 0;

  /** @param {HTMLElement} host @param {Player} player @param {Translate} t @param {Palette} palette */
  constructor(host, player, t, palette) {
    this.#player = player;
    this.#t = t;
    this.#palette = palette;
    const list = this.#svg.appendChild(s("g"));
    this.#partitions = new Keyed(list, (id) => new PartitionDrawing(id, this.#t));
    const below = document.createElement("div");
    this.#cells = new Keyed(below, () => new Cells());
    const box = document.createElement("div");
    box.className = "hw-strips-box";
    box.append(below, this.#svg);
    host.append(box);
    this.#listen();
  }

  /** @param {{ root: SVGElement, draw: (layout: StripsLayout) => void }} drawing shown over the lanes from now on */
  drawOver(drawing) {
    this.#over = drawing;
    this.#svg.append(drawing.root);
    this.all();
  }

  /** @param {number} width of the host, CSS pixels */
  resize(width) {
    this.#width = Math.max(300, Math.floor(width));
    this.all();
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.#palette = palette;
    this.all();
  }

  /** Everything is to be patched: the camera, the size or the selection has changed. */
  all() {
    this.#touched = null;
    this.dirty = true;
  }

  /** @param {Change} change */
  note({ what, touched, reset }) {
    if (what.has("mode")) this.dirty = true;
    if (what.has("time") && (this.#player.mode === "pause" || performance.now() - this.#drawn_ms > CLOCK_MS)) this.dirty = true;
    if (!what.has("view")) return;
    this.dirty = true;
    if (reset) this.#touched = null;
    for (const key of touched) {
      if (this.#touched === null) return;
      const partition = this.#partitionOf(key);
      if (partition === null) this.#touched = null;
      else if (partition) this.#touched.add(partition);
    }
  }

  /** The partition that a written path changes the picture of; "" when it changes none, null when it may change all. @param {string} key */
  #partitionOf(key) {
    const cut = key.indexOf("/");
    const id = key.slice(cut + 1);
    switch (key.slice(0, cut)) {
      case "replicas":
        return id.slice(0, id.lastIndexOf("@"));
      case "partitions":
        return id;
      case "nodes": // a client's progress changes no lane, a broker's state changes all of its own
        return this.#player.view?.nodes[id]?.kind === "broker" ? null : "";
      case "topics":
        return null;
      case "zk":
        return id.startsWith("/config/") ? null : "";
      case "rpcs":
        return this.selected?.type === "rpc" && this.selected.id === id ? null : "";
      default:
        return "";
    }
  }

  draw() {
    const { view, at_us } = this.#player;
    if (!view) return;
    const before = this.#layout;
    const layout = (this.#layout = layoutStrips(view, at_us, { width: this.#width, topic: this.topic, camera: this.camera }));
    const touched = sameFrame(before, layout) ? this.#touched : null;
    this.#touched = new Set();
    if (touched === null) {
      set(this.#svg, { viewBox: `0 0 ${layout.width} ${Math.max(1, layout.height)}`, width: layout.width, height: layout.height,
        "aria-label": this.#t("draw.strips.label", { topic: this.topic ?? "" }) });
    }
    const marks = this.#marks();
    this.#drawn_ms = performance.now();
    const tick = this.#player.mode === "pause" || this.#drawn_ms - this.#ticked_ms > CLOCK_MS;
    if (tick) this.#ticked_ms = this.#drawn_ms;
    this.#partitions.sync(layout.partitions.map((place) => place.id), (drawing, id, i) => {
      const place = layout.partitions[i];
      const moved = before?.partitions[i]?.first !== place.first;
      if (touched === null || touched.has(id) || moved) {
        drawing.update(view, layout, place, marks);
        if (tick) set(drawing.root, { "aria-label": summary(view, id, this.#t) });
      }
      if (place.open && tick) drawing.tick(view, layout, place, at_us);
    });
    const open = layout.partitions.filter((place) => place.open && place.lanes.length);
    this.#cells.sync(open.map((place) => place.id), (cells, _, i) => cells.update(this.#palette, layout, open[i], at_us));
    this.#over?.draw(layout);
  }

  #marks() {
    const { view } = this.#player;
    /** @type {Map<string, number>} */
    const asks = new Map();
    if (view && this.selected?.type === "rpc")
      for (const { replica, offset } of footprint(view, this.selected.id)) asks.set(replica, offset);
    let cursor = null;
    const record = this.pointed ?? this.selected;
    if (record?.type === "record") {
      const [replica, offset] = splitRecord(record.id);
      cursor = { replica, offset };
    }
    return { selected: this.selected?.type === "replica" ? this.selected.id : "", cursor, asks, stepping: this.#player.mode === "pause" };
  }

  // --- pointing ------------------------------------------------------------------------------------------------

  /**
   * The thing at a position: a record if there is one, else the replica.
   * @param {number} x client
   * @param {number} y client
   * @returns {Target | null}
   */
  targetAt(x, y) {
    const found = this.#laneAt(x, y);
    if (!found || !this.#layout) return null;
    const { place, lane, local } = found;
    const offset = offsetAt(this.#layout, place, local);
    const { replica } = lane;
    const inside = local >= this.#layout.x0 && local < this.#layout.x0 + this.#layout.slots * this.#layout.pitch;
    if (inside && replica && offset >= replica.log_start_offset && offset < lane.end) return { type: "record", id: `${lane.id}:${offset}` };
    return { type: "replica", id: lane.id };
  }

  /** @param {number} x @param {number} y @returns {{ place: PartitionPlace, lane: Lane, local: number } | null} */
  #laneAt(x, y) {
    const box = boxOf(this.#svg);
    const local_y = y - box.y;
    const place = this.#placeAt(y);
    const lane = place?.open ? place.lanes.find((one) => local_y >= one.y && local_y < one.y + one.h) : undefined;
    return place && lane ? { place, lane, local: x - box.x } : null;
  }

  /**
   * Where a record is on the axis, also out of sight; null where its partition is not open.
   * @param {string} id of a record
   * @returns {Framed | null}
   */
  frameOf(id) {
    const [replica, offset] = splitRecord(id);
    const layout = this.#layout;
    const place = layout?.partitions.find(({ lanes, open }) => open && lanes.some((one) => one.id === replica));
    const lane = place?.lanes.find((one) => one.id === replica);
    if (!layout || !place || !lane) return null;
    const { x: left, y: top } = boxOf(this.#svg);
    const cells = { x: left + layout.x0, y: top + place.y, w: layout.slots * layout.pitch, h: place.h };
    return { box: { x: left + offsetX(layout, place, offset), y: top + lane.cell_y, w: layout.pitch, h: CELL_H }, frame: cells };
  }

  /** @param {number} y client */
  #placeAt(y) {
    const local_y = y - boxOf(this.#svg).y;
    return this.#layout?.partitions.find((one) => local_y >= one.y && local_y < one.y + one.h) ?? null;
  }

  /** The offsets in sight. @returns {Ranges} */
  get ranges() {
    return this.#layout ? rangesOf(this.#layout) : {};
  }

  /**
   * Keeps ranges of offsets in sight; of a topic with many partitions the one that has a range is open.
   * @param {Ranges} ranges
   * @param {string} most the partition whose range comes first
   */
  fit(ranges, most) {
    const ids = Object.keys(ranges);
    this.camera = { first: {}, open: ids.length === 1 ? ids[0] : this.camera.open, small: false, fit: ranges, most };
    this.all();
    this.#player.wake();
  }

  /** The axes stay where they are, and are the person's own again. */
  #release() {
    if (!this.camera.fit) return;
    const pitch = this.#layout?.pitch ?? Infinity;
    const moved = (this.#layout?.partitions ?? []).filter(({ following }) => !following);
    const first = Object.fromEntries(moved.map((place) => [place.id, place.first]));
    this.camera = { first, open: this.camera.open, small: pitch <= 8 };
  }

  /** Moves the axis of a partition; at its end it follows again. @param {PartitionPlace} place @param {number} first */
  #pan(place, first) {
    this.#release();
    const layout = /** @type {StripsLayout} */ (this.#layout);
    if (first + layout.slots > place.end + 3) delete this.camera.first[place.id];
    else this.camera.first[place.id] = Math.max(0, Math.round(first));
    this.all();
    this.#player.wake();
  }

  /** Brings an offset of a partition into sight. @param {string} id @param {number} offset */
  reveal(id, offset) {
    const place = this.#layout?.partitions.find((one) => one.id === id);
    if (!place || !this.#layout) return;
    if (!place.open) this.camera.open = id;
    if (this.camera.fit) return; // what is in sight is chosen by another page
    if (offset < place.first || offset >= place.first + this.#layout.slots) this.#pan(place, offset - this.#layout.slots / 2);
  }

  #listen() {
    const svg = this.#svg;
    svg.addEventListener("wheel", (event) => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      const place = this.#placeAt(event.clientY);
      if (!place?.open || !this.#layout || Math.abs(sideways) < Math.abs(event.shiftKey ? 0 : event.deltaY) || sideways === 0) return;
      event.preventDefault();
      if (!this.mayPan()) return;
      this.#pan(place, place.first + Math.sign(sideways) * Math.max(1, Math.round(Math.abs(sideways) / this.#layout.pitch)));
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      const { x: from, y } = pointOf(event);
      const place = this.#placeAt(y);
      if (event.button !== 0 || !place?.open || !this.#layout) return;
      const { x0, pitch, slots } = this.#layout;
      const box = boxOf(svg);
      const overview = place.overview && y - box.y >= place.overview.y ? place.overview : null;
      const first = place.first;
      /** @param {PointerEvent} move */
      const drag = (move) => {
        const now = this.#layout?.partitions.find((one) => one.id === place.id);
        if (!now) return;
        const { x } = pointOf(move);
        const isMoved = overview || Math.abs(x - from) > 4;
        if (!isMoved || !this.mayPan()) return;
        if (overview) {
          const part = (x - box.x - x0) / (slots * pitch);
          this.#pan(now, overview.from + part * (overview.to - overview.from) - slots / 2);
        } else {
          svg.setPointerCapture(move.pointerId);
          this.#pan(now, first - Math.round((x - from) / pitch));
        }
      };
      if (overview) drag(event);
      const end = () => {
        svg.removeEventListener("pointermove", drag);
        svg.removeEventListener("pointerup", end);
        svg.removeEventListener("pointercancel", end);
      };
      svg.addEventListener("pointermove", drag);
      svg.addEventListener("pointerup", end);
      svg.addEventListener("pointercancel", end);
    });
  }

  /** Zooms to small cells and back. */
  toggleSmall() {
    if (!this.mayPan()) return;
    this.#release();
    this.camera.small = !this.camera.small;
    this.camera.first = {};
    this.all();
    this.#player.wake();
  }

  /** Opens a partition where only one is open at a time. @param {string} id */
  open(id) {
    this.camera.open = id;
    this.all();
    this.#player.wake();
  }
}

/**
 * Is the frame around the lanes the same, so that what was not touched need not be drawn?
 * @param {StripsLayout | null} a
 * @param {StripsLayout} b
 */
function sameFrame(a, b) {
  if (!a || a.width !== b.width || a.height !== b.height || a.pitch !== b.pitch
    || a.partitions.length !== b.partitions.length) return false;
  return b.partitions.every((place, i) => {
    const old = a.partitions[i];
    return old.id === place.id && old.y === place.y && old.open === place.open && old.lanes.length === place.lanes.length
      && place.lanes.every((lane, k) => old.lanes[k].id === lane.id && old.lanes[k].role === lane.role);
  });
}

