// What a stretch of time contained: messages from sent to arrived, requests from parked to done, and what nodes did.
// Read from the events that are here, once for each; drawings that show more than an instant ask it.

import { familyOf } from "../view/selectors.js";
import { lastIndex } from "../last_index.js";

/** @import { WireEvent } from "../events/events.d.ts" */
/** @import { Chunk } from "./recording.js" */
/** @import { Family } from "../view/selectors.js" */

/**
 * @typedef {{ id: string, api: string, kind: string, family: Family, source: string, destination: string, label: string,
 *             sent_us: number, sent_seq: number, due_us: number, end_us: number, end_seq: number, lost: boolean,
 *             held_us: number, held_seq: number }} Span
 *   `end_us` and `held_us` are Infinity as long as it has not happened; `_seq`: the event that says so, 0 for one before the first.
 *   A request to ZooKeeper takes no time: it ends when it is sent.
 * @typedef {{ id: string, broker: string, api: string, family: Family, client: string, partitions: string[], needs: string,
 *   since_us: number,
 *             end_us: number }} Wait
 * @typedef {{ seq: number, at_us: number, node: string, kind: string, values: Record<string, string | number> }} Deed
 * @typedef {{ from_seq: number, next_seq: number, spans: Span[], open: Map<string, Span>, waits: Wait[], parked: Map<string, Wait>,
 *             deeds: Deed[], longest_us: number, longest_wait_us: number }} Digest
 */

const ASKED = "zk:";
/** Whether a message represents requests to ZooKeeper, which are not RPCs. @param {{ id: string }} span */
export const isZooKeeperRequest = ({ id }) => id.startsWith(ASKED);

/** "getData /controller +2". @param {number} count @param {[string, string, string][]} requests @returns {string} */
export function requestsLabel(count, [[operation, path, result]]) {
  const words = [operation, path, result === "ok" ? "" : result, count > 1 ? `+${count - 1}` : ""];
  return words.filter(Boolean).join(" ");
}

/** Stretches longer than this are cut when one looks backwards for what began before a window. */
const LOOK_BACK_US = 60_000_000;

export class History {
  /** Whether requests to ZooKeeper are among the messages. */
  zookeeper = false;
  /** @type {WeakMap<Chunk, Digest>} */
  #digests = new WeakMap();
  #chunks;
  #last_seq;

  /**
   * @param {() => Chunk[]} chunks the stretches of events that are here, oldest first
   * @param {() => number} [last_seq] the event that is shown: of its instant, what follows it has not happened yet
   */
  constructor(chunks, last_seq = () => Infinity) {
    this.#chunks = chunks;
    this.#last_seq = last_seq;
  }

  /**
   * Messages that were in flight at some moment of a span of time; what happened after `now_us` is left out.
   * @param {number} from_us
   * @param {number} to_us
   * @returns {Span[]} in the order of sending
   */
  messages(from_us, to_us) {
    const touching = this.#touching(from_us, to_us);
    const last_seq = this.#last_seq();
    const shown = (/** @type {Iterable<Span>} */ spans) => [...spans].filter((span) => span.sent_seq <= last_seq
      && (this.zookeeper || !isZooKeeperRequest(span))).map((span) => spanAfter(span, last_seq));
    if (touching.length === 1) return shown(spansIn(touching[0], from_us, to_us));
    /** @type {Map<string, Span>} */
    const found = new Map();
    for (const stretch of touching)
      for (const span of spansIn(stretch, from_us, to_us)) keep(found, span, stretch.until_us === Infinity ? Infinity : span.due_us);
    return shown(found.values());
  }

  /** Requests that were parked at some moment of a span of time. @param {number} from_us @param {number} to_us @returns {Wait[]} */
  waits(from_us, to_us) {
    /** @type {Map<string, Wait>} */
    const found = new Map();
    for (const { digest: { waits, parked, longest_wait_us }, until_us, goes_on } of this.#touching(from_us, to_us)) {
      // Intervals that have not ended may be longer than all others. A stretch that continues one contains what still waits.
      if (!goes_on) for (const wait of parked.values()) if (wait.since_us <= to_us) keep(found, wait, until_us);
      const start = 1 + lastIndex(waits.length, (i) => waits[i].since_us < from_us - Math.min(longest_wait_us, LOOK_BACK_US));
      for (let i = start; i < waits.length && waits[i].since_us <= to_us; i++)
        if (waits[i].end_us >= from_us) keep(found, waits[i], until_us);
    }
    return [...found.values()];
  }

  /** What nodes did in a span of time. @param {number} from_us @param {number} to_us @returns {Deed[]} */
  deeds(from_us, to_us) {
    /** @type {Map<number, Deed>} */
    const found = new Map();
    const last_seq = this.#last_seq();
    for (const { digest: { deeds } } of this.#touching(from_us, to_us)) {
      const start = 1 + lastIndex(deeds.length, (i) => deeds[i].at_us < from_us);
      for (let i = start; i < deeds.length && deeds[i].at_us <= to_us && deeds[i].seq <= last_seq; i++) found.set(deeds[i].seq, deeds[i]);
    }
    return [...found.values()];
  }

  /** Stretches of a span of time whose events are not here. @param {number} from_us @param {number} to_us @returns {[number, number][]} */
  gaps(from_us, to_us) {
    /** @type {[number, number][]} */
    const gaps = [];
    let next_seq = 1;
    let known_us = from_us;
    for (const chunk of this.#chunks()) {
      const [first, last] = extent(chunk);
      if (first === undefined || first > to_us) continue;
      if (chunk.first_seq > next_seq && first > known_us) gaps.push([known_us, first]);
      next_seq = Math.max(next_seq, chunk.first_seq + chunk.events.length);
      known_us = Math.max(known_us, last);
    }
    return gaps;
  }

  /**
   * What is known of a span of time, oldest first. `until_us`: the end of what a digest covers, Infinity where the next
   * `goes_on` from it.
   * @param {number} from_us
   * @param {number} to_us
   */
  #touching(from_us, to_us) {
    const chunks = this.#chunks().filter((chunk) => {
      const [first, last] = extent(chunk);
      return first !== undefined && first <= to_us && last >= from_us - LOOK_BACK_US;
    });
    return chunks.map((chunk, i) => {
      const next = chunks[i + 1];
      const goes_on = next !== undefined && next.first_seq <= chunk.first_seq + chunk.events.length;
      return { digest: this.#digest(chunk), until_us: !next || goes_on ? Infinity : extent(chunk)[1], goes_on };
    });
  }

  /** @param {Chunk} chunk @returns {Digest} */
  #digest(chunk) {
    let digest = this.#digests.get(chunk);
    // What was dropped before it was drawn is unknown: the history restarts after it.
    if (!digest || digest.next_seq < chunk.first_seq) {
      digest = { from_seq: chunk.first_seq, next_seq: chunk.first_seq, spans: [], open: new Map(), waits: [], parked: new Map(),
        deeds: [], longest_us: 0, longest_wait_us: 0 };
      if (chunk.base) begin(digest, chunk.base.state);
      this.#digests.set(chunk, digest);
    }
    if (digest.from_seq < chunk.first_seq) forget(digest, chunk);
    for (let i = digest.next_seq - chunk.first_seq; i < chunk.events.length; i++) read(digest, chunk.events[i]);
    digest.next_seq = chunk.first_seq + chunk.events.length;
    return digest;
  }
}

/** A message as it was after an event. @param {Span} span @param {number} last_seq @returns {Span} */
function spanAfter(span, last_seq) {
  if (span.end_seq <= last_seq && span.held_seq <= last_seq) return span;
  const open = span.end_seq > last_seq ? { end_us: Infinity, lost: false } : {};
  return { ...span, ...open, ...(span.held_seq > last_seq ? { held_us: Infinity } : {}) };
}

/** The instants of the first and the last event of a chunk. @param {Chunk} chunk @returns {[number | undefined, number]} */
function extent({ base, events }) {
  const first = base?.at_us ?? events[0]?.[1];
  return [first, events.at(-1)?.[1] ?? first ?? 0];
}

/**
 * Keeps what the newest stretch of events says about an interval; if it is open at the end of its stretch, it ends at `open_us`.
 * @template {{ id: string, end_us: number }} T
 * @param {Map<string, T>} found @param {T} one @param {number} open_us
 */
function keep(found, one, open_us) {
  if (one.end_us === Infinity && open_us < Infinity) found.set(one.id, { ...one, end_us: open_us });
  else if (one.end_us < Infinity || found.get(one.id)?.end_us !== Infinity) found.set(one.id, one);
}

/** @param {{ digest: Digest, goes_on: boolean }} stretch @param {number} from_us @param {number} to_us */
function* spansIn({ digest: { spans, open, longest_us }, goes_on }, from_us, to_us) {
  const earliest_us = from_us - Math.min(longest_us, LOOK_BACK_US);
  const reaches = (/** @type {Span} */ { end_us, due_us, held_us }) => Math.min(end_us, held_us === Infinity
    ? due_us : Infinity) >= from_us;
  if (!goes_on) for (const span of open.values()) if (span.sent_us < earliest_us && reaches(span)) yield span;
  const start = 1 + lastIndex(spans.length, (i) => spans[i].sent_us < earliest_us);
  for (let i = start; i < spans.length && spans[i].sent_us <= to_us; i++) if (reaches(spans[i])) yield spans[i];
}

/** What was in flight before the first event. @param {Digest} digest @param {import("../view/view.d.ts").View} state */
function begin(digest, state) {
  for (const [id, rpc] of Object.entries(state.rpcs)) {
    const { api, kind, source, destination, label, sent_us, due_us, held } = rpc;
    open(digest, { id, api, kind, family: familyOf(api, kind), source, destination, label, sent_us, sent_seq: 0, due_us,
      end_us: Infinity, end_seq: 0, lost: false, held_us: held ? sent_us : Infinity, held_seq: 0 });
  }
  for (const [id, { broker, api, client, partitions, needs, since_us }] of Object.entries(state.parked))
    park(digest, { id, broker, api, family: familyOf(api, "request"), client, partitions, needs, since_us, end_us: Infinity });
  digest.spans.sort((a, b) => a.sent_us - b.sent_us);
  digest.waits.sort((a, b) => a.since_us - b.since_us);
}

/** The window has lost its oldest events. @param {Digest} digest @param {Chunk} chunk */
function forget(digest, chunk) {
  const from_us = chunk.events[0]?.[1] ?? 0;
  digest.from_seq = chunk.first_seq;
  digest.spans = digest.spans.filter((one) => one.end_us >= from_us);
  digest.waits = digest.waits.filter((one) => one.end_us >= from_us);
  digest.deeds = digest.deeds.filter((one) => one.at_us >= from_us);
}

/** @param {Digest} digest @param {Span} span */
function open(digest, span) {
  digest.spans.push(span);
  digest.open.set(span.id, span);
  digest.longest_us = Math.max(digest.longest_us, span.due_us - span.sent_us);
}

/** @param {Digest} digest @param {Wait} wait */
function park(digest, wait) {
  digest.waits.push(wait);
  digest.parked.set(wait.id, wait);
}

/** @param {Digest} digest @param {Wait} wait @param {number} at_us */
function end(digest, wait, at_us) {
  digest.parked.delete(wait.id);
  wait.end_us = at_us;
  digest.longest_wait_us = Math.max(digest.longest_wait_us, at_us - wait.since_us);
}

/** @param {Digest} digest @param {WireEvent} wire */
function read(digest, [seq, at_us, node, , body]) {
  const [kind, ...f] = /** @type {[string, ...any[]]} */ (body);
  switch (kind) {
    case "RpcSent": {
      const [id, api, way, source, destination, due_us, , label] = f;
      open(digest, { id, api, kind: way, family: familyOf(api, way), source, destination, label, sent_us: at_us, sent_seq: seq, due_us,
        end_us: Infinity, end_seq: 0, lost: false, held_us: Infinity, held_seq: 0 });
      return;
    }
    case "ZooKeeperAsked": {
      const [source, count, requests] = f;
      digest.spans.push({ id: `${ASKED}${seq}`, api: requests[0][0], kind: "request", family: "zk", source, destination: "zk",
        label: requestsLabel(count, requests), sent_us: at_us, sent_seq: seq, due_us: at_us, end_us: at_us, end_seq: seq, lost: false,
        held_us: Infinity, held_seq: 0 });
      return;
    }
    case "RpcDelivered":
    case "RpcDropped": {
      const span = digest.open.get(f[0]);
      if (!span) return;
      digest.open.delete(f[0]);
      span.end_us = at_us;
      span.end_seq = seq;
      span.lost = kind === "RpcDropped";
      digest.longest_us = Math.max(digest.longest_us, at_us - span.sent_us);
      return;
    }
    case "RpcHeld": {
      const span = digest.open.get(f[0]);
      if (span) [span.held_us, span.held_seq] = [at_us, seq];
      return;
    }
    case "RpcRescheduled": {
      const span = digest.open.get(f[0]);
      if (span) span.due_us = f[1];
      return;
    }
    case "RequestParked": {
      const [broker, id, api, client, partitions, needs] = f;
      if (digest.parked.has(id)) return; // only its deadline has moved
      park(digest, { id, broker, api, family: familyOf(api, "request"), client, partitions, needs, since_us: at_us, end_us: Infinity });
      return;
    }
    case "RequestCompleted": {
      const wait = digest.parked.get(f[1]);
      if (wait) end(digest, wait, at_us);
      return;
    }
    case "BrokerStopped": // its waiting requests are dropped
      for (const wait of digest.parked.values()) if (wait.broker === f[0]) end(digest, wait, at_us);
  }
  const values = DEEDS[kind]?.(f);
  if (values) digest.deeds.push({ seq, at_us, node, kind, values });
}

/**
 * What is worth a mark on a node's lane, and what the mark says.
 * @type {Record<string, (fields: any[]) => Record<string, string | number>>}
 */
const DEEDS = {
  BatchAppended: ([replica, base, last]) => ({ partition: partitionOf(replica), offsets: base === last ? `${base}` : `${base}–${last}` }),
  HighWatermarkAdvanced: ([replica, , to]) => ({ partition: partitionOf(replica), offset: to }),
  HighWatermarkLowered: ([replica, , to]) => ({ partition: partitionOf(replica), offset: to }),
  LogTruncated: ([replica, , to]) => ({ partition: partitionOf(replica), offset: to }),
  IsrShrunk: ([replica, , to]) => ({ partition: partitionOf(replica), isr: to.join(",") }),
  IsrExpanded: ([replica, , to]) => ({ partition: partitionOf(replica), isr: to.join(",") }),
  ReplicaBecameLeader: ([replica, leader_epoch]) => ({ partition: partitionOf(replica), leader_epoch }),
  ControllerElected: ([, controller_epoch]) => ({ controller_epoch }),
  LeaderElected: ([partition, leader, leader_epoch]) => ({ partition, leader, leader_epoch }),
  BrokerStopped: ([, how]) => ({ how }),
  BrokerStarted: () => ({}),
  BrokerExiting: () => ({}),
  BrokerFrozen: () => ({}),
  BrokerThawed: () => ({}),
  ClientFrozen: () => ({}),
  ClientThawed: () => ({}),
};

/** @param {string} replica */
function partitionOf(replica) {
  return replica.slice(0, replica.lastIndexOf("@"));
}
