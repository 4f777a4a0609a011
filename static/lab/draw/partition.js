// One partition of the strips: its header, its lanes, and what crosses them: flags, epochs, remote offsets, the overview.

import { CELL_H, HEADER_H, boundaryX } from "../core/layout/strips.js";
import { beliefs, leaderReplica, nodeOf, roleOf, topicSetting } from "../core/view/selectors.js";
import { LaneDrawing } from "./lane.js";
import { Keyed, means, monoWidth, s, set, show, text } from "./svg.js";

/** @import { PartitionPlace, StripsLayout } from "../core/layout/strips.js" */
/** @import { Replica, View } from "../core/view/view.d.ts" */
/** @import { Translate } from "../core/texts.js" */

/**
 * @typedef {{ selected: string, cursor: { replica: string, offset: number } | null, asks: Map<string, number>, stepping: boolean
 *   }} Marks
 */

class Flag {
  root = s("g");
  #plate = s("rect", { height: 12.5, rx: 2.5 });
  #label = s("text", { y: 9.3, "text-anchor": "middle" });
  /** Left and right edge. @type {[number, number]} */
  extent = [0, 0];

  /** @param {string} kind */
  constructor(kind) {
    set(this.root, { class: `hw-flag ${kind}` });
    this.root.append(this.#plate, this.#label);
  }

  /** Where it would be. @param {string} words @param {number} x @param {"left" | "right"} side */
  place(words, x, side) {
    const w = monoWidth(words, 8.8) + 10;
    const left = side === "left" ? x - w : x;
    this.extent = [left, left + w];
    text(this.#label, words);
    set(this.#plate, { width: w.toFixed(1) });
    set(this.#label, { x: (w / 2).toFixed(1) });
    return this;
  }

  /** @param {number} y */
  draw(y) {
    set(this.root, { transform: `translate(${this.extent[0].toFixed(1)},${y})` });
    show(this.root, true);
  }

  hide() {
    show(this.root, false);
  }
}

/** Widths in the header: of a letter of the name, and of the space between the name and the columns. */
const NAME_CHAR_W = 6.9;
const FACTS_W = 270;
const NARROW_FACTS_W = 160;

/** A long name without its middle: names differ at their ends. @param {string} name @param {number} most letters */
const middle = (name, most) => (name.length <= most ? name : `${name.slice(0, Math.max(4, most - 9))}…${name.slice(-8)}`);

export class PartitionDrawing {
  root;
  #t;
  #id;
  #ground = s("rect", { class: "hw-partition-ground", height: HEADER_H });
  #rule = s("line", { class: "hw-partition-rule" });
  #name = s("text", { class: "hw-partition-name", x: 12 });
  #facts = s("text", { class: "hw-partition-facts" });
  #fact_leader = s("tspan", { class: "leader" });
  #fact_rest = s("tspan");
  #fact_min = s("tspan", { class: "dim" });
  #note = s("g", { class: "hw-note" });
  #note_plate = s("rect", { height: 15, rx: 4 });
  #note_text = s("text", { y: 10.8, "text-anchor": "middle" });
  /** @type {SVGElement[]} */
  #heads;
  #gauge = s("g", { class: "hw-gauge" });
  #gauge_fill = s("rect", { height: 6, rx: 1.5 });
  #gauge_open = s("rect", { height: 6, rx: 1.5, class: "open" });
  #lanes;
  #epochs;
  #high_watermark = s("path", { class: "hw-line" });
  #high_watermark_guide = s("path", { class: "hw-guide" });
  #log_end = s("path", { class: "hw-leo-line" });
  #flag_hw = new Flag("hw");
  #flag_leo = new Flag("leo");
  #believed;
  #stale = s("text", { class: "hw-stale" });
  #overview = s("g", { class: "hw-overview" });
  #overview_parts = { log: s("rect", { height: 4 }), committed: s("rect", { height: 4, class: "committed" }),
    window: s("rect", { height: 8, rx: 2, class: "window", y: -2 }) };

  /** @param {string} id @param {Translate} t */
  constructor(id, t) {
    this.#id = id;
    this.#t = t;
    this.#facts.append(this.#fact_leader, this.#fact_rest, this.#fact_min);
    this.#note.append(this.#note_plate, this.#note_text);
    this.#heads = [0, 1, 2].map(() => s("text", { "text-anchor": "end" }));
    this.#gauge.append(this.#gauge_fill, this.#gauge_open);
    const { log, committed, window } = this.#overview_parts;
    this.#overview.append(log, committed, window);
    const header = means(s("g", { class: "hw-partition-header", tabindex: 0, role: "button" }, this.#ground, this.#rule, this.#name,
      this.#facts, this.#note, ...this.#heads, this.#gauge), { type: "partition", id });
    const lanes = s("g");
    const across = s("g");
    this.#lanes = new Keyed(lanes, (lane) => new LaneDrawing(lane, t));
    this.#epochs = new Keyed(across.appendChild(s("g")), () => new EpochMark());
    this.#believed = new Keyed(across.appendChild(s("g")), () => new Belief());
    across.append(this.#high_watermark_guide, this.#high_watermark, this.#log_end);
    this.root = s("g", { role: "group", class: "hw-partition" }, header, lanes, across, this.#flag_hw.root, this.#flag_leo.root,
      this.#stale, this.#overview);
  }

  /** @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place @param {Marks} marks */
  update(view, layout, place, marks) {
    this.#header(view, layout, place);
    this.#lanes.sync(place.open ? place.lanes.map((lane) => lane.id) : [], (drawing, id, i) => {
      const { cursor, selected, asks, stepping } = marks;
      drawing.update(view, layout, place, place.lanes[i], { cursor: cursor?.replica === id ? cursor.offset : null,
        selected: selected === id, asks: asks.get(id) ?? null, stepping });
    });
    this.#across(view, layout, place);
    this.#drawOverview(view, layout, place);
  }

  /** @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place @param {number} at_us */
  tick(view, layout, place, at_us) {
    for (const lane of place.lanes) this.#lanes.items.get(lane.id)?.tick(view, layout, place, lane, at_us);
  }

  // --- header --------------------------------------------------------------------------------------------------

  /** @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place */
  #header(view, layout, { y, open, start, end }) {
    const t = this.#t;
    const partition = view.partitions[this.#id];
    const { columns, width } = layout;
    const narrow = columns.bar === null;
    const base = y + 15;
    set(this.#ground, { y, width });
    set(this.#rule, { x1: 0, x2: width, y1: y + 0.5, y2: y + 0.5 });
    set(this.#name, { y: base });
    const name = middle(this.#id, Math.floor((columns.log_end - (narrow ? NARROW_FACTS_W : FACTS_W)) / NAME_CHAR_W));
    text(this.#name, name);
    const x = 24 + name.length * NAME_CHAR_W;
    set(this.#facts, { x: x.toFixed(1), y: base });
    const led = partition.leader >= 0;
    text(this.#fact_leader, partition.leader_epoch < 0 ? t("draw.partition.new") : led
      ? t("draw.partition.leader", { node: nodeOf(partition.leader) }) : t("draw.partition.none"));
    set(this.#fact_leader, { class: led ? "leader" : "bad" });
    const isr = t("draw.partition.isr", { isr: partition.isr.join(","), n: partition.replicas.length });
    text(this.#fact_rest, narrow ? `  ${isr}` : `   ${t("draw.partition.epoch", { epoch: partition.leader_epoch })}   ${isr}`);
    const least = topicSetting(view, partition.topic, "min.insync.replicas");
    text(this.#fact_min, least && !narrow ? `   min.insync ${least}` : "");
    this.#drawNote(view, layout, y, x);
    const xs = [columns.log_end, columns.high_watermark, columns.caught_up];
    const leader = leaderReplica(view, this.#id);
    const heads = open ? ["LEO", "HW", this.#t("draw.caught_up")] : [String(leader?.log_end_offset ?? ""),
      String(leader?.high_watermark ?? ""), ""];
    this.#heads.forEach((head, i) => {
      set(head, { x: xs[i], y: base, class: open ? "hw-head" : "hw-number" });
      text(head, i < 2 || !narrow ? heads[i] : "");
    });
    show(this.#gauge, !open && leader !== undefined);
    if (open || !leader) return;
    const from = columns.log_end - 190;
    const per = 150 / Math.max(1, end - start);
    set(this.#gauge, { transform: `translate(${from},${y + 8})` });
    set(this.#gauge_fill, { width: ((leader.high_watermark - start) * per).toFixed(1) });
    set(this.#gauge_open, { x: ((leader.high_watermark - start) * per).toFixed(1),
      width: ((leader.log_end_offset - leader.high_watermark) * per).toFixed(1) });
  }

  /**
   * The most important thing that is not as it should be.
   * @param {View} view
   * @param {StripsLayout} layout
   * @param {number} y
   * @param {number} x
   */
  #drawNote(view, { columns }, y, x) {
    const t = this.#t;
    const { leader, isr, replicas, leader_epoch } = view.partitions[this.#id];
    const pending = leaderReplica(view, this.#id)?.pending_isr;
    const least = Number(topicSetting(view, view.partitions[this.#id].topic, "min.insync.replicas") ?? 1);
    /** @type {[string, string] | null} */
    let note = null;
    if (leader < 0 && leader_epoch >= 0) note = [t("draw.partition.offline"), "bad"];
    else if (pending) note = [t("draw.partition.pending", { isr: pending.join(",") }), "plain"];
    else if (isr.length < least) note = [t("draw.partition.under_min"), "bad"];
    else if (leader_epoch >= 0 && isr.length < replicas.length) note = [t("draw.partition.under_replicated"), "warn"];
    const facts = [this.#fact_leader, this.#fact_rest, this.#fact_min].reduce((sum, one) => sum + (one.textContent?.length ?? 0), 0);
    const left = x + facts * 5.7 + 12;
    const w = note ? note[0].length * 5.2 + 14 : 0;
    show(this.#note, note !== null && left + w < columns.log_end - 24);
    if (!note) return;
    set(this.#note, { transform: `translate(${left.toFixed(1)},${y + 4})`, class: `hw-note ${note[1]}` });
    set(this.#note_plate, { width: w.toFixed(1) });
    set(this.#note_text, { x: (w / 2).toFixed(1) });
    text(this.#note_text, note[0]);
  }

  // --- across the lanes ----------------------------------------------------------------------------------------

  /** @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place */
  #across(view, layout, place) {
    const top = place.lanes[0];
    const leader = top && place.open && top.role === "leader" ? top.replica : undefined;
    const reference = leader ?? (place.open ? longest(place) : undefined);
    const flag_y = place.y + HEADER_H + 1.5;
    /** @type {[number, number][]} */
    const taken = [];

    this.#drawHighWatermark(layout, place, leader, flag_y, taken);
    this.#drawLogEnd(layout, place, leader, flag_y, taken);
    this.#drawEpochs(layout, place, reference, flag_y, taken);
    this.#drawBeliefs(view, layout, place, leader !== undefined);
  }

  /**
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {Replica | undefined} leader
   * @param {number} flag_y
   * @param {[number, number][]} taken
   */
  #drawHighWatermark(layout, place, leader, flag_y, taken) {
    const top = place.lanes[0];
    const bottom = place.lanes.at(-1);
    const hw = leader ? boundaryX(layout, place, leader.high_watermark) : null;
    show(this.#high_watermark, hw !== null);
    show(this.#high_watermark_guide, hw !== null && bottom !== top);
    this.#flag_hw.hide();
    if (!leader || !bottom) return;
    const isBefore = leader.high_watermark < place.first;
    const x = hw ?? (isBefore ? layout.x0 - 1 : layout.x0 + layout.slots * layout.pitch);
    if (hw !== null) {
      set(this.#high_watermark, { d: `M${x.toFixed(1)} ${top.cell_y - 3}v${CELL_H + 5}` });
      set(this.#high_watermark_guide, { d: `M${x.toFixed(1)} ${top.cell_y + CELL_H + 2}V${bottom.cell_y + CELL_H + 2}` });
    }
    const name = `HW ${leader.high_watermark}`;
    const words = hw !== null ? name : isBefore ? `‹ ${name}` : `${name} ›`;
    this.#flag_hw.place(words, x + 1, x - monoWidth(words, 8.8) - 10 > 20 && !isBefore ? "left" : "right").draw(flag_y);
    taken.push(this.#flag_hw.extent);
  }

  /**
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {Replica | undefined} leader
   * @param {number} flag_y
   * @param {[number, number][]} taken
   */
  #drawLogEnd(layout, place, leader, flag_y, taken) {
    const leo = leader ? boundaryX(layout, place, leader.log_end_offset) : null;
    show(this.#log_end, leo !== null && leader !== undefined && leader.log_end_offset > leader.high_watermark);
    this.#flag_leo.hide();
    if (!leader || leo === null) return;
    set(this.#log_end, { d: `M${leo.toFixed(1)} ${place.lanes[0].cell_y - 3}v25` });
    let x = leo - (leader.log_end_offset === leader.high_watermark ? -2 : 1);
    if (taken.some(([, right]) => right > x)) x = Math.max(...taken.map(([, right]) => right)) + 2;
    this.#flag_leo.place(`LEO ${leader.log_end_offset}`, x, "right").draw(flag_y);
    taken.push(this.#flag_leo.extent);
  }

  /**
   * @param {StripsLayout} layout
   * @param {PartitionPlace} place
   * @param {Replica | undefined} log
   * @param {number} flag_y
   * @param {[number, number][]} taken
   */
  #drawEpochs(layout, place, log, flag_y, taken) {
    const seen = log ? log.epochs.filter(([, start], i) => start <= place.first + layout.slots
      && (log.epochs[i + 1]?.[1] ?? Infinity) > place.first) : [];
    const bottom = place.lanes.at(-1);
    this.#epochs.sync(seen.map(([epoch]) => String(epoch)), (mark, key, i) => {
      const [epoch, start] = seen[i];
      const x = boundaryX(layout, place, Math.max(start, place.first, log?.log_start_offset ?? 0)) ?? layout.x0;
      const line = start > Math.max(place.first, log?.log_start_offset ?? 0);
      mark.flag.place(`e${epoch}`, x + 1, "right");
      const [a, b] = mark.flag.extent;
      if (taken.some(([from, to]) => from < b && to > a)) mark.flag.hide();
      else {
        mark.flag.draw(flag_y);
        taken.push([a, b]);
      }
      show(mark.line, line && bottom !== undefined);
      if (bottom) set(mark.line, { d: `M${x.toFixed(1)} ${place.lanes[0].cell_y - 2}V${bottom.cell_y + CELL_H + 2}` });
    });
  }

  /** @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place @param {boolean} led */
  #drawBeliefs(view, layout, place, led) {
    const known = led ? beliefs(view, this.#id) : [];
    const y = (place.lanes[0]?.cell_y ?? 0) + CELL_H;
    const limit = layout.columns.log_end - 28;
    const end = layout.x0 + layout.slots * layout.pitch;
    let free_x = 0; // where the next label may begin
    let last_x = NaN;
    let stale = "";
    const ordered = [...known].sort((a, b) => a.believed - b.believed);
    this.#believed.sync(ordered.map((one) => one.node), (mark, node, i) => {
      const { believed, really } = ordered[i];
      const role = roleOf(view, this.#id, Number(node.slice(1)));
      const x = believed < 0 ? layout.x0 - 1 : boundaryX(layout, place, believed) ?? (believed < place.first ? layout.x0 - 1 : end);
      const label_x = Math.max(x + 6, free_x);
      const words = believed < 0 ? `${node} ?` : node;
      mark.update(x, label_x, y, role, words, last_x === x);
      free_x = label_x + monoWidth(words, 9.5) + 5;
      last_x = x;
      if (believed >= 0 && really !== null && really !== believed) stale = this.#t("draw.belief", { node, believed, really });
    });
    show(this.#stale, stale !== "" && free_x + 4 + stale.length * 5 < limit);
    set(this.#stale, { x: (free_x + 4).toFixed(1), y: y + 9.5 });
    text(this.#stale, stale);
  }

  /** @param {View} view @param {StripsLayout} layout @param {PartitionPlace} place */
  #drawOverview(view, layout, { overview, first }) {
    show(this.#overview, overview !== null);
    if (!overview) return;
    const { from, to, y } = overview;
    const width = layout.slots * layout.pitch;
    const per = width / Math.max(1, to - from);
    const leader = leaderReplica(view, this.#id);
    const { log, committed, window } = this.#overview_parts;
    set(this.#overview, { transform: `translate(${layout.x0},${y + 4})` });
    set(log, { width });
    set(committed, { width: (((leader?.high_watermark ?? from) - from) * per).toFixed(1) });
    set(window, { x: ((Math.max(first, from) - from) * per).toFixed(1), width: Math.max(6, layout.slots * per).toFixed(1) });
  }
}

class EpochMark {
  flag = new Flag("epoch");
  line = s("path", { class: "hw-epoch-line" });
  root = s("g", {}, this.line, this.flag.root);
}

class Belief {
  #mark = s("path", { d: "M0 0l4 6h-8z" });
  #label = s("text", { y: 8 });
  root = s("g", {}, this.#mark, this.#label);

  /**
   * @param {number} x
   * @param {number} label_x
   * @param {number} y
   * @param {string} role
   * @param {string} words
   * @param {boolean} again is it at the position of the one before?
   */
  update(x, label_x, y, role, words, again) {
    set(this.root, { class: `hw-belief ${role}`, transform: `translate(${x.toFixed(1)},${y + 1.5})` });
    show(this.#mark, !again);
    set(this.#label, { x: (label_x - x).toFixed(1) });
    text(this.#label, words);
  }
}

/** The replica with the longest log: its epochs are shown without a leader. @param {PartitionPlace} place */
function longest({ lanes }) {
  const logs = lanes.flatMap(({ replica }) => (replica ? [replica] : []));
  return logs.length ? logs.reduce((best, one) => (one.log_end_offset > best.log_end_offset ? one : best)) : undefined;
}
