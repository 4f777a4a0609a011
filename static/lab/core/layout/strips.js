// Where everything on the replica strips is: partitions below each other, all replicas of one on one offset axis.

import { laneOrder, leaderReplica, logEnd, nodeOf, partitionNames, roleOf } from "../view/selectors.js";

/** @import { Translate } from "../texts.js" */
/** @import { Role } from "../view/selectors.js" */
/** @import { Replica, View } from "../view/view.d.ts" */

/**
 * @typedef {{ id: string, node: string, broker_id: number, role: Role, y: number, h: number, cell_y: number,
 *             replica: Replica | undefined, end: number }} Lane `end`: where its log ends, in its files when its broker is down
 * @typedef {{ id: string, y: number, h: number, open: boolean, lanes: Lane[], first: number, start: number, end: number,
 *             following: boolean, overview: { y: number, from: number, to: number } | null }} PartitionPlace
 * @typedef {{ width: number, height: number, x0: number, slots: number, pitch: number, columns: Columns,
 *             partitions: PartitionPlace[] }} StripsLayout
 * @typedef {{ log_end: number, high_watermark: number, bar: number | null, caught_up: number }} Columns right edges; the bar's left
 *
 * What the person chose: the first offset shown of a partition (absent: follow the end), the open partition when there
 * are many, and small cells. `fit`: first and last offsets that another page has in sight; where it is given, cells are as
 * wide as lets all of them be visible here.
 * @typedef {Record<string, [number, number]>} Ranges
 * @typedef {{ first: Record<string, number>, open: string | null, small: boolean, fit?: Ranges | null, most?: string }} Camera
 *   `most`: the partition whose range comes first where not all of them fit
 * @typedef {"committed" | "open" | "truncated" | "deleted" | "free"} CellState
 */

export const HEADER_H = 22;
const LEADER_H = 49;
const LANE_H = 26;
const BOTTOM = 1;
export const CELL_H = 20;
const OVERVIEW_H = 12;
/** More partitions than this are shown closed, one row each. */
const MAX_OPEN = 4;
/** Free slots kept to the right of the longest log, at least. */
const AHEAD = 3;
/** The axis follows the end in steps of this many offsets: in between, cells stay where they are. */
const STEP = 8;
/** With more offsets than this a bar of the whole log is added. */
const OVERVIEW_FROM = 200;
/** Between the columns of the log end offset and the high watermark there is room for so many digits. */
const COLUMN_DIGITS = 4;
const DIGIT_W = 6.7;
const PITCH = 21.8;
const SMALL_PITCH = 8;
/** Narrower cells than this could not be distinguished: then the ranges of other partitions are cut. */
const MIN_PITCH = 3;
/** How long truncated records stay visible, simulated microseconds. */
export const CUT_SHOWN_US = 3_000_000;

/**
 * @param {View} view
 * @param {number} at_us
 * @param {{ width: number, topic: string | null, camera: Camera }} options
 * @returns {StripsLayout}
 */
export function layoutStrips(view, at_us, { width, topic, camera }) {
  const narrow = width < 560;
  const x0 = narrow ? 62 : 126;
  const ids = partitionNames(view, topic);
  const more = DIGIT_W * Math.max(0, longestOffset(view, ids) - COLUMN_DIGITS);
  const right = (narrow ? 74 : 176) + 2 * more;
  const pitch = camera.fit ? fittingPitch(camera.fit, ids, camera.most, width - x0 - right) : camera.small ? SMALL_PITCH : PITCH;
  const slots = Math.max(4, Math.floor((width - x0 - right) / pitch));
  /** @type {Columns} */
  const columns = narrow
    ? { log_end: width - 40 - more, high_watermark: width - 8, bar: null, caught_up: 0 }
    : { log_end: width - 133 - more, high_watermark: width - 100, bar: width - 90, caught_up: width - 10 };
  const closed = ids.length > MAX_OPEN;
  const open = closed ? (camera.open !== null && ids.includes(camera.open) ? camera.open : ids[0]) : null;
  let y = 0;
  const partitions = ids.map((id) => {
    const place = layoutPartition(view, at_us, id, y, !closed || id === open, slots, camera.first[id], camera.fit?.[id]);
    y += place.h;
    return place;
  });
  return { width, height: y, x0, slots, pitch, columns, partitions };
}

/** The digits of the largest offset. @param {View} view @param {string[]} ids */
function longestOffset(view, ids) {
  const logs = ids.flatMap((id) => view.partitions[id].replicas.map((broker) => view.replicas[`${id}@${nodeOf(broker)}`]));
  const ends = logs.map((one) => one?.log_end_offset ?? 0);
  return String(Math.max(0, ...ends)).length;
}

/**
 * @param {View} view
 * @param {number} at_us
 * @param {string} id
 * @param {number} y
 * @param {boolean} open
 * @param {number} slots
 * @param {number | undefined} pinned
 * @param {[number, number] | undefined} fit
 * @returns {PartitionPlace}
 */
function layoutPartition(view, at_us, id, y, open, slots, pinned, fit) {
  let lane_y = y + HEADER_H;
  const lanes = laneOrder(view.partitions[id]).map((broker_id, i) => {
    const node = nodeOf(broker_id);
    const leads = i === 0;
    const replica = view.replicas[`${id}@${node}`];
    /** @type {Lane} */
    const lane = { id: `${id}@${node}`, node, broker_id, role: roleOf(view, id, broker_id), y: lane_y,
      h: leads ? LEADER_H : LANE_H, cell_y: lane_y + (leads ? 15 : 3), replica, end: replica ? logEnd(view, replica) : 0 };
    lane_y += lane.h;
    return lane;
  });
  const logs = lanes.flatMap(({ replica }) => (replica ? [replica] : []));
  const start = logs.length ? Math.min(...logs.map((one) => one.log_start_offset)) : 0;
  const end = Math.max(0, ...logs.map((one) => Math.max(one.log_end_offset, cutEnd(one, at_us))));
  const least = Math.max(0, start - 1);
  const step = Math.min(STEP, Math.max(1, Math.floor(slots / 3)));
  const newest = Math.max(least, Math.ceil((end + AHEAD - slots) / step) * step);
  // Where more fits than the range, what is before it is shown: its end stays at the right.
  const first = fit ? Math.max(0, fit[1] + 1 - slots) : pinned === undefined ? newest : Math.min(Math.max(least, pinned), newest);
  const long = end - start > OVERVIEW_FROM;
  const overview = long && open ? { y: lane_y, from: start, to: end } : null;
  const h = open ? lane_y - y + BOTTOM + (overview ? OVERVIEW_H : 0) : HEADER_H;
  return { id, y, h, open, lanes, first, start, end, following: first === newest, overview };
}

/**
 * The widest cells with which ranges are in sight.
 * @param {Ranges} fit
 * @param {string[]} ids of the partitions that are shown
 * @param {string | undefined} most
 * @param {number} width
 */
function fittingPitch(fit, ids, most, width) {
  const known = ids.filter((id) => id in fit);
  /** @param {string[]} some */
  const pitchFor = (some) => Math.min(PITCH, Math.floor((width / Math.max(4, ...some.map((id) => fit[id][1] - fit[id][0] + 1))) * 10) / 10);
  const pitch = pitchFor(known);
  return pitch >= MIN_PITCH || !most || !known.includes(most) ? Math.max(1, pitch) : Math.max(1, pitchFor([most]));
}

/**
 * The offsets of the open partitions that are in sight. Free cells beyond the end of a log count up to the step in which the
 * axis moves, so that the range does not change with each record.
 * @param {StripsLayout} layout
 * @returns {Ranges}
 */
export function rangesOf({ partitions, slots }) {
  return Object.fromEntries(partitions.filter(({ open, lanes }) => open && lanes.length).map(({ id, first, end }) => {
    const last = Math.min(first + slots, Math.ceil((end + AHEAD) / STEP) * STEP) - 1;
    return [id, [first, Math.max(first, last)]];
  }));
}

/** The end of what was truncated lately, 0 when nothing was. @param {Replica} replica @param {number} at_us */
export function cutEnd({ cut }, at_us) {
  return cut && at_us - cut.at_us < CUT_SHOWN_US ? cut.from : 0;
}

/** @param {{ replica: Replica | undefined, end: number }} lane @param {number} offset @param {number} at_us @returns {CellState} */
export function cellState({ replica, end }, offset, at_us) {
  if (!replica) return "free";
  if (offset < replica.log_start_offset) return "deleted";
  if (offset >= end && offset < replica.log_end_offset) return "truncated";
  if (offset < replica.log_end_offset) return offset < replica.high_watermark ? "committed" : "open";
  return offset < cutEnd(replica, at_us) ? "truncated" : "free";
}

/** Where the left edge of an offset's cell is. @param {StripsLayout} layout @param {PartitionPlace} place @param {number} offset */
export function offsetX(layout, place, offset) {
  return layout.x0 + (offset - place.first) * layout.pitch;
}

/** The offset at a place of the axis. @param {StripsLayout} layout @param {PartitionPlace} place @param {number} x */
export function offsetAt(layout, place, x) {
  return place.first + Math.floor((x - layout.x0) / layout.pitch);
}

/**
 * Where a boundary (high watermark, log end) is drawn: between cells, or null when it is out of sight.
 * @param {StripsLayout} layout
 * @param {PartitionPlace} place
 * @param {number} offset
 */
export function boundaryX(layout, place, offset) {
  if (offset < place.first || offset > place.first + layout.slots) return null;
  return offsetX(layout, place, offset) - 1;
}

/**
 * One sentence of what the strips of a partition show, for those who cannot see them.
 * @param {View} view
 * @param {string} id
 * @param {Translate} t
 */
export function summary(view, id, t) {
  const partition = view.partitions[id];
  const leader = leaderReplica(view, id);
  const parts = [leader
    ? t("draw.strips.summary.leader", { partition: id, leader: nodeOf(partition.leader), hw: leader.high_watermark,
      leo: logEnd(view, leader) })
    : t("draw.strips.summary.none", { partition: id })];
  for (const broker_id of laneOrder(partition)) {
    const role = roleOf(view, id, broker_id);
    if (role === "leader") continue;
    const replica = view.replicas[`${id}@${nodeOf(broker_id)}`];
    const behind = leader && replica ? Math.max(0, logEnd(view, leader) - logEnd(view, replica)) : 0;
    parts.push(t("draw.strips.summary.follower", { node: nodeOf(broker_id), role: t(`draw.role.${role}`), n: behind }));
  }
  return parts.join("; ");
}
