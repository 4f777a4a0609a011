// One partition in a small picture of a fixed size, such as that of the front page: the replicas by broker, the last offsets, the
// high watermark, and the messages between them. Its size is that of its viewBox; CSS scales it.

import { cellState } from "../core/layout/strips.js";
import { logEnd, leaderReplica, nodeOf, roleOf } from "../core/view/selectors.js";
import { GLYPHS } from "./glyphs.js";
import { Keyed, clip, monoWidth, s, set, show, text } from "./svg.js";

/** @import { Player } from "../core/player/player.js" */
/** @import { Texts } from "../core/texts.js" */
/** @import { Rpc, View } from "../core/view/view.d.ts" */

const WIDTH = 472;
const HEIGHT = 136;
const LANE_H = 40;
const CELL_X = 82;
const CELL_W = 30;
const CELL_H = 27;
const PITCH = 33;
const SLOTS = 7;
/** Where messages drive: one track for each broker that sends requests. */
const TRACK_X = CELL_X + SLOTS * PITCH + 6;
const TRACK_W = 74;
const PILL_H = 20;
/** A held message waits this close to its destination, 0 to 1 of the way. */
const HELD_AT = 0.72;
/** Messages of other kinds are not drawn here. */
const APIS = ["Fetch", "Produce"];

export class Mini {
  dirty = true;
  #player;
  #texts;
  #id;
  #root = s("svg", { class: "mini", viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  #lanes;
  #pills;
  #line = s("path", { class: "mini-hw" });
  #flag = s("g", { class: "mini-flag" });
  #flag_text = s("text", { y: 10.4, "text-anchor": "middle" });
  #flag_plate = s("rect", { height: 14, rx: 2.5 });

  /** @param {HTMLElement} host @param {Player} player @param {Texts} texts @param {string} id of the partition */
  constructor(host, player, texts, id) {
    this.#player = player;
    this.#texts = texts;
    this.#id = id;
    const lanes = s("g");
    const pills = s("g");
    this.#lanes = new Keyed(lanes, () => new MiniLane());
    this.#pills = new Keyed(pills, () => new Pill());
    this.#flag.append(this.#flag_plate, this.#flag_text);
    this.#root.append(lanes, this.#line, this.#flag, pills);
    host.append(this.#root);
  }

  draw() {
    const { view, at_us } = this.#player;
    const partition = view?.partitions[this.#id];
    if (!view || !partition) return;
    const brokers = [...partition.replicas].sort((a, b) => a - b);
    const ends = brokers.map((broker) => view.replicas[`${this.#id}@${nodeOf(broker)}`]?.log_end_offset ?? 0);
    const first = Math.max(0, Math.max(...ends) - SLOTS + 1);
    this.#lanes.sync(brokers.map(nodeOf), (lane, node, i) => lane.update(view, this.#id, brokers[i], i, first, at_us, this.#texts));
    this.#drawWatermark(view, brokers.length, first);
    this.#drawPills(view, brokers.map(nodeOf), at_us);
  }

  /** @param {View} view @param {number} lanes @param {number} first */
  #drawWatermark(view, lanes, first) {
    const leader = leaderReplica(view, this.#id);
    const place = leader ? leader.high_watermark - first : -1;
    show(this.#line, place >= 0 && place <= SLOTS);
    show(this.#flag, place >= 0 && place <= SLOTS);
    if (!leader || place < 0) return;
    const x = CELL_X + place * PITCH - 1.5;
    const words = `HW ${leader.high_watermark}`;
    const w = monoWidth(words, 9.5) + 10;
    set(this.#line, { d: `M${x} 2V${lanes * LANE_H + 12}` });
    set(this.#flag, { transform: `translate(${x},0)` });
    set(this.#flag_plate, { width: w.toFixed(1) });
    set(this.#flag_text, { x: (w / 2).toFixed(1) });
    text(this.#flag_text, words);
    set(this.#root, { role: "img", "aria-label": this.#texts.text("hero.picture", { hw: leader.high_watermark, node: leader.node }) });
  }

  /** @param {View} view @param {string[]} nodes @param {number} at_us */
  #drawPills(view, nodes, at_us) {
    const shown = Object.keys(view.rpcs).filter((id) => {
      const { api, source, destination } = view.rpcs[id];
      return APIS.includes(api) && (nodes.includes(source) || nodes.includes(destination));
    });
    this.#pills.sync(shown, (pill, id) => {
      const rpc = view.rpcs[id];
      const part = rpc.held ? HELD_AT : Math.min(1, Math.max(0, (at_us - rpc.sent_us) / Math.max(1, rpc.due_us - rpc.sent_us)));
      const [from, to] = [rpc.source, rpc.destination].map((node) => nodes.indexOf(node));
      const follower = rpc.kind === "request" ? from : to;
      if (from < 0 || to < 0) pill.aside(rpc, part, from < 0 ? to : from, from < 0, this.#texts);
      else pill.between(rpc, laneY(from) + (laneY(to) - laneY(from)) * part, follower, this.#texts);
    });
  }
}

/** The middle of a lane. @param {number} i */
const laneY = (i) => 16 + i * LANE_H + CELL_H / 2;

class MiniLane {
  root = s("g");
  #edge = s("rect", { x: 0, width: 3, height: 31 });
  #glyph = s("path");
  #half = s("circle", { r: 3.7, class: "hw-half" });
  #name = s("text", { class: "mini-name", x: 26 });
  #role = s("text", { class: "mini-role", x: 13 });
  #own = s("path", { class: "mini-own-hw" });
  #cells;

  constructor() {
    const cells = s("g");
    this.#cells = new Keyed(cells, () => new MiniCell());
    this.root.append(this.#edge, this.#half, this.#glyph, this.#name, this.#role, cells, this.#own);
  }

  /**
   * @param {View} view @param {string} id of the partition @param {number} broker @param {number} i its place
   * @param {number} first offset shown @param {number} at_us @param {Texts} texts
   */
  update(view, id, broker, i, first, at_us, texts) {
    const role = roleOf(view, id, broker);
    const replica = view.replicas[`${id}@${nodeOf(broker)}`];
    const y = 16 + i * LANE_H;
    set(this.root, { class: `mini-lane ${role}` });
    set(this.#edge, { y: y - 2 });
    set(this.#glyph, { d: GLYPHS[role], transform: `translate(17,${y + 7})`, class: `hw-glyph ${role}` });
    show(this.#half, role === "outisr");
    set(this.#half, { cx: 17, cy: y + 7 });
    set(this.#name, { y: y + 11 });
    text(this.#name, nodeOf(broker));
    set(this.#role, { y: y + 24 });
    text(this.#role, clip(texts.text(`draw.role.${role}`), CELL_X - 16, 10));
    const lane = { replica, end: replica ? logEnd(view, replica) : 0 };
    const offsets = Array.from({ length: SLOTS }, (_, slot) => first + slot);
    this.#cells.sync(offsets.map(String), (cell, _, slot) => cell.update(cellState(lane, offsets[slot], at_us), offsets[slot],
      CELL_X + slot * PITCH, y - 1));
    const leader = leaderReplica(view, id);
    const behind = replica && role !== "offline" && replica.high_watermark !== leader?.high_watermark
      && replica.high_watermark >= first;
    show(this.#own, Boolean(behind));
    if (behind) set(this.#own, { d: `M${CELL_X + (replica.high_watermark - first) * PITCH - 1.5} ${y - 4}v${CELL_H + 6}` });
  }
}

class MiniCell {
  root = s("g");
  #box = s("rect", { width: CELL_W, height: CELL_H, rx: 4 });
  #number = s("text", { class: "mono", x: CELL_W / 2, y: 17.5, "text-anchor": "middle" });
  #strike = s("path", { d: `M4 ${CELL_H - 4}L${CELL_W - 4} 4` });
  #dot = s("circle", { r: 1.2, cx: CELL_W / 2, cy: CELL_H / 2 });

  constructor() {
    this.root.append(this.#box, this.#number, this.#strike, this.#dot);
  }

  /** @param {string} state @param {number} offset @param {number} x @param {number} y */
  update(state, offset, x, y) {
    const exists = state !== "free" && state !== "deleted";
    set(this.root, { class: `mini-cell ${state}`, transform: `translate(${x},${y})` });
    show(this.#box, exists);
    show(this.#number, exists);
    show(this.#strike, state === "truncated");
    show(this.#dot, !exists);
    text(this.#number, String(offset));
  }
}

/** The letters that fit in a pill. */
const MAX_LABEL = 11;

/** A message in a few letters: of a request for records its offset, of a response its first fact.
 * @param {Rpc} rpc
 * @param {Texts} texts
 */
function shortLabel({ api, kind, label }, texts) {
  if (api === "Produce" && kind === "request") return api;
  const [first] = texts.render(label).split(" · ");
  return first.length > MAX_LABEL ? `${first.slice(0, MAX_LABEL - 1)}…` : first;
}

class Pill {
  root = s("g");
  #plate = s("rect", { height: PILL_H, rx: PILL_H / 2, y: -PILL_H / 2 });
  #label = s("text", { y: 3.3, "text-anchor": "middle" });

  constructor() {
    this.root.append(this.#plate, this.#label);
  }

  /** Between two brokers. @param {Rpc} rpc @param {number} y @param {number} follower the place of its lane @param {Texts} texts */
  between(rpc, y, follower, texts) {
    this.#place(rpc, TRACK_X + (Math.max(1, follower) - 1) * (TRACK_W + 4), y, texts);
  }

  /**
   * From or to a client, which is at the right.
   * @param {Rpc} rpc @param {number} part of its way @param {number} lane @param {boolean} comes @param {Texts} texts
   */
  aside(rpc, part, lane, comes, texts) {
    const way = comes ? 1 - part : part;
    this.#place(rpc, TRACK_X + way * (WIDTH - TRACK_W - TRACK_X), laneY(lane), texts);
  }

  /** @param {Rpc} rpc @param {number} x @param {number} y @param {Texts} texts */
  #place(rpc, x, y, texts) {
    const family = rpc.api === "Fetch" ? "fetch" : "produce";
    set(this.root, { class: `mini-pill ${family} ${rpc.kind}${rpc.held ? " held" : ""}`,
      transform: `translate(${x.toFixed(1)},${y.toFixed(1)})` });
    set(this.#plate, { width: TRACK_W });
    set(this.#label, { x: TRACK_W / 2 });
    text(this.#label, rpc.held ? texts.text("hero.held") : shortLabel(rpc, texts));
  }
}
