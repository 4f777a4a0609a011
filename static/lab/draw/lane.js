// One replica's lane: label, marks on its cells, and the columns on the right. Only what has changed is written.

import { CELL_H, boundaryX, offsetX } from "../core/layout/strips.js";
import { lagTimeMax, leaderReplica } from "../core/view/selectors.js";
import { shortDurationText } from "../core/player/timemap.js";
import { GLYPHS } from "./glyphs.js";
import { flash, means, monoWidth, s, set, show, text } from "./svg.js";

/** @import { Lane, PartitionPlace, StripsLayout } from "../core/layout/strips.js" */
/** @import { View } from "../core/view/view.d.ts" */
/** @import { Translate } from "../core/texts.js" */

const BAR_W = 44;

export class LaneDrawing {
  root;
  #t;
  /** What `#drawFrame` has drawn. */
  #frame = "";
  #ground = s("rect", { class: "hw-lane-ground", x: 0 });
  #edge = s("rect", { class: "hw-lane-edge", x: 0, width: 3 });
  #glyph = s("path");
  #half = s("circle", { r: 3.7, class: "hw-half" });
  #name = s("text", { class: "hw-lane-name", x: 30 });
  #role = s("text", { class: "hw-lane-role", x: 48 });
  #high_watermark = s("path", { class: "hw-own-hw" });
  #cursor = s("rect", { class: "hw-cursor", y: -2, height: CELL_H + 4, rx: 5 });
  #asks = s("text", { class: "hw-asks" });
  #log_end = s("text", { class: "hw-number", "text-anchor": "end" });
  #committed = s("text", { class: "hw-number", "text-anchor": "end" });
  #bar = s("g", { class: "hw-lag" });
  #bar_fill = s("rect", { height: 4, rx: 2, class: "hw-lag-fill" });
  #bar_tick = s("path", { d: `M${BAR_W / 2} -3v10`, class: "hw-lag-tick" });
  #caught_up = s("text", { class: "hw-number hw-caught-up", "text-anchor": "end" });

  /** @param {string} id of the replica @param {Translate} t */
  constructor(id, t) {
    this.#t = t;
    this.#bar.append(s("rect", { width: BAR_W, height: 4, rx: 2, class: "hw-lag-ground" }), this.#bar_fill, this.#bar_tick);
    this.root = means(s("g", { tabindex: 0, role: "button" }, this.#ground, this.#edge, this.#half, this.#glyph, this.#name, this.#role,
      this.#high_watermark, this.#cursor, this.#asks, this.#log_end, this.#committed, this.#bar, this.#caught_up), { type: "replica", id });
  }

  /**
   * All that depends on the view.
   * @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place @param {Lane} lane
   * @param {{ cursor: number | null, selected: boolean, asks: number | null, stepping: boolean }} marks the offset pointed
   *   at, whether the lane is selected, the offset that the selected fetch asks for, and whether changed numbers flash
   */
  update(view, layout, place, lane, { cursor, selected, asks, stepping }) {
    const { role, replica, cell_y, end } = lane;
    const middle = cell_y + CELL_H / 2;
    const claims = replica?.role === "leader" && role !== "leader" && role !== "offline" ? replica.leader_epoch : null;
    const frame = `${layout.width} ${lane.y} ${lane.h} ${role} ${claims} ${selected}`;
    if (frame !== this.#frame) {
      this.#frame = frame;
      this.#drawFrame(layout, lane, claims, selected);
    }

    this.#drawMarks(layout, place, lane, view, asks, cursor);

    const write = stepping ? flash : text;
    set(this.#log_end, { x: layout.columns.log_end, y: middle + 3.8 });
    write(this.#log_end, replica ? String(end) : "–");
    set(this.#committed, { x: layout.columns.high_watermark, y: middle + 3.8,
      class: `hw-number${behindLeader(view, place.id, lane) ? " dim" : ""}` });
    write(this.#committed, replica ? String(replica.high_watermark) : "–");
  }

  /**
   * What stays while records come.
   * @param {StripsLayout} layout
   * @param {Lane} lane
   * @param {number | null} claims the epoch in which it leads, as it still thinks
   * @param {boolean} selected
   */
  #drawFrame(layout, lane, claims, selected) {
    const t = this.#t;
    const { role, cell_y } = lane;
    const narrow = layout.columns.bar === null;
    const middle = cell_y + CELL_H / 2;
    const leads = lane.h > 30;
    set(this.root, { class: `hw-lane ${role}${leads ? " first" : ""}${selected ? " hw-selected" : ""}` });
    set(this.#ground, { y: lane.y, width: layout.width, height: lane.h });
    set(this.#edge, { y: leads ? cell_y : lane.y, height: leads ? CELL_H : lane.h });
    set(this.#glyph, { d: GLYPHS[role], transform: `translate(${narrow ? 13 : 18},${middle})`, class: `hw-glyph ${role}` });
    show(this.#half, role === "outisr");
    set(this.#half, { cx: narrow ? 13 : 18, cy: middle });
    set(this.#name, { y: middle + 4, x: narrow ? 22 : 30 });
    text(this.#name, lane.node);
    show(this.#role, !narrow);
    set(this.#role, { y: middle + 3.8 });
    text(this.#role, claims === null ? t(`draw.role.${role}`) : t("draw.role.claims", { epoch: claims }));
  }

  /**
   * What depends on time alone.
   * @param {View} view
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {Lane} lane
   * @param {number} at_us
   */
  tick(view, layout, place, lane, at_us) {
    const { bar, caught_up } = layout.columns;
    set(this.root, { "aria-label": this.#spoken(lane) });
    const middle = lane.cell_y + CELL_H / 2;
    show(this.#caught_up, bar !== null);
    const leader = leaderReplica(view, place.id);
    const remote = leader?.remotes[lane.node];
    show(this.#bar, bar !== null && remote !== undefined && lane.h < 30);
    if (bar === null) return;
    set(this.#caught_up, { x: caught_up, y: middle + 3.6 });
    if (lane.h > 30) {
      set(this.#caught_up, { class: "hw-caught-up first" });
      text(this.#caught_up, lane.replica ? this.#t("draw.log_start", { offset: lane.replica.log_start_offset }) : "");
      return;
    }
    if (!remote || !leader) {
      text(this.#caught_up, "");
      return;
    }
    // A new leader does not know when a replica was caught up that has never fetched from it; nor of one that left the ISR
    // with an offset that is still the last.
    const inIsr = leader.isr.includes(view.nodes[lane.node]?.broker_id ?? -1);
    if (remote.last_caught_up_us <= 0 && (!inIsr || remote.log_end_offset < leader.log_end_offset)) {
      show(this.#bar, false);
      set(this.#caught_up, { class: "hw-number hw-caught-up" });
      text(this.#caught_up, "—");
      return;
    }
    const most = lagTimeMax(view, leader.node);
    const even = remote.log_end_offset >= leader.log_end_offset;
    const lag = even ? 0 : Math.max(0, at_us - remote.last_caught_up_us);
    const late = lag > most;
    set(this.#bar, { transform: `translate(${bar},${middle - 2})`, class: `hw-lag${late ? " late" : ""}` });
    set(this.#bar_fill, { width: Math.max(2, Math.min(1, lag / (2 * most)) * BAR_W).toFixed(1) });
    set(this.#caught_up, { class: `hw-number hw-caught-up${late ? " late" : ""}` });
    text(this.#caught_up, lag === 0 ? "0ms" : shortDurationText(lag));
  }

  /**
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {Lane} lane
   * @param {View} view
   * @param {number | null} asks
   * @param {number | null} cursor
   */
  #drawMarks(layout, place, lane, view, asks, cursor) {
    const { replica, cell_y } = lane;
    const leader = leaderReplica(view, place.id);
    const own = replica && lane.h < 30 && (replica.log_end_offset > replica.high_watermark
      || replica.high_watermark !== leader?.high_watermark);
    const x = own ? boundaryX(layout, place, replica.high_watermark) : null;
    show(this.#high_watermark, x !== null);
    if (x !== null) set(this.#high_watermark, { d: `M${x.toFixed(1)} ${cell_y - 1.5}v${CELL_H + 3}` });
    const at = cursor ?? asks;
    const seen = at !== null && at >= place.first && at < place.first + layout.slots;
    show(this.#cursor, seen);
    show(this.#asks, seen && cursor === null);
    if (!seen) return;
    const left = offsetX(layout, place, at) - 1;
    set(this.#cursor, { x: left, y: cell_y - 3, width: layout.pitch, height: CELL_H + 6 });
    const words = this.#t("draw.asks", { offset: at });
    const flip = left + layout.pitch + 5 + monoWidth(words, 9.5) > layout.columns.log_end - 26;
    set(this.#asks, { x: flip ? left - 5 : left + layout.pitch + 5, y: cell_y + 13.5, "text-anchor": flip ? "end" : "start" });
    text(this.#asks, words);
  }

  /** @param {Lane} lane */
  #spoken({ node, role, replica, end }) {
    const name = this.#t(`draw.role.${role}`);
    return replica ? this.#t("draw.lane", { node, role: name, leo: end, hw: replica.high_watermark }) : `${node}, ${name}`;
  }
}

/** @param {View} view @param {string} id @param {Lane} lane */
function behindLeader(view, id, { replica }) {
  const leader = leaderReplica(view, id);
  return replica && leader && replica.high_watermark < leader.high_watermark;
}
