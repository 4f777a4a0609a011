// The live side of a branch: a snapshot, then events without a gap, the clock of the core, and responses to this page.

import { extend } from "../recording/marks.js";
import { Painted } from "./painted.js";
import { Refusal } from "../refusal.js";
import { isOutdated, Socket } from "./socket.js";

/** @import { Aspect } from "../view/changes.js" */
/** @import { WireEvent } from "../events/events.d.ts" */
/** @import { Clock, LiveClock } from "./clock.js" */
/** @import { Place, Recording } from "../recording/recording.js" */
/** @import { View } from "../view/view.d.ts" */

/**
 * @typedef {"connecting" | "open" | "lost" | "recorded"} Connection `recorded`: nothing but the recording is there
 * @typedef {{ note: (...aspects: Aspect[]) => void, announce: (...aspects: Aspect[]) => void, refuse: (refusal: Refusal) => void,
 *             wake: () => void, snapshot: (place: Place) => void }} Teller
 *   `note`: notifies with the next frame, `announce` at once; `snapshot`: the live window begins there
 */

/** Least milliseconds between two acknowledgements: hundreds of pages follow a lab, and the server reads each of them. */
const ACK_MS = 50;

export class LiveFeed {
  /** @type {Connection} */
  connection = "connecting";
  /** While `lost`: seconds until the next attempt. */
  retry_in_s = 0;
  /** While `lost`: why the server has it wait, in words; empty if it has not. */
  why = "";
  /** Why the server rejected this page, or null. @type {{ code: number, reason: string } | null} */
  closed = null;
  /** The contents of `welcome`: name, user, rights, zookeeper and so on. @type {Record<string, any> | null} */
  welcome = null;
  /** The server was updated: the page has to be loaded again. */
  outdated = false;
  /** The last frame about the exercise. @type {Record<string, any> | null} */
  exercise_state = null;
  /** How many events a snapshot of the server passed over. */
  skipped = 0;
  /** Seq of the last event that came; 0 before the first snapshot. */
  received = 0;
  /** How many pages watch the branch, if the server sends it. */
  watchers = 1;
  /** How many labs of the class are built before this one; 0: it is built now; null: it does not wait. @type {number | null} */
  waking = null;
  painted = new Painted();

  #schema;
  #isReadOnly;
  #boot;
  #recording;
  #clock;
  #tell;
  /** Seq of the last event that is drawn, and of the last that is acknowledged. */
  #drawn = 0;
  #acked = 0;
  /** Runs from one acknowledgement until the next may be sent. @type {ReturnType<typeof setTimeout> | undefined} */
  #ackTimer;
  /** @type {Socket | null} */
  #socket = null;

  /**
   * @param {{ schema: string, boot: string, isReadOnly: boolean }} known the page's own vocabulary, the start of the server that it
   *   holds events of, and whether it only watches
   * @param {Recording} recording
   * @param {LiveClock} clock
   * @param {Teller} tell
   */
  constructor({ schema, boot, isReadOnly }, recording, clock, tell) {
    this.#schema = schema;
    this.#isReadOnly = isReadOnly;
    this.#boot = boot;
    this.#recording = recording;
    this.#clock = clock;
    this.#tell = tell;
  }

  /** @param {string} url @param {typeof WebSocket | null} WebSocketClass null: no server, only the recording */
  connect(url, WebSocketClass) {
    if (!WebSocketClass) {
      this.connection = "recorded";
      return;
    }
    this.#socket = new Socket(url, {
      schema: this.#schema,
      have: () => this.received,
      boot: () => this.#boot,
      onFrame: (frame) => this.#receive(frame),
      onState: (state, retry_in_s, final, why) => {
        this.waking = null;
        this.connection = state === "open" && this.welcome?.core === "recorded" ? "recorded" : state;
        this.retry_in_s = retry_in_s;
        this.closed = final;
        this.why = why;
        this.outdated = isOutdated(final);
        this.#tell.announce("connection");
      },
    }, WebSocketClass);
  }

  /** Whether the server can send a snapshot. */
  get open() {
    return this.#socket?.open ?? false;
  }

  /** Asks for a snapshot: what this page has is not what the server has. */
  refetch() {
    this.received = 0;
    this.#socket?.restart();
  }

  /** Sends a frame and waits for its answer. @param {object} frame @returns {Promise<any>} */
  ask(frame) {
    if (this.#isReadOnly) return Promise.reject(new Refusal({ code: "read_only", what: "This lab is only watched." }));
    if (this.#socket) return this.#socket.request(frame);
    return Promise.reject(new Refusal({ code: "recorded", what: "This is a recording; there is no lab behind it." }));
  }

  /** All events are drawn: acknowledges them. @param {boolean} shown does the page show them? */
  drawn(shown) {
    this.painted.drawn(shown);
    this.#drawn = this.received;
    if (this.#ackTimer === undefined) this.#acknowledge();
  }

  #acknowledge() {
    this.#ackTimer = undefined;
    if (this.#acked === this.#drawn) return;
    this.#acked = this.#drawn;
    this.#socket?.send({ k: "ack", seq: this.#drawn });
    this.#ackTimer = setTimeout(() => this.#acknowledge(), ACK_MS);
  }

  rest() {
    this.#socket?.rest();
  }

  resume() {
    if (this.#socket && !this.#socket.open) this.#socket.restart();
  }

  close() {
    clearTimeout(this.#ackTimer);
    this.#socket?.close();
  }

  /** @param {any} frame */
  #receive(frame) {
    switch (frame.k) {
      case "welcome":
        this.welcome = frame;
        this.#boot = frame.boot;
        this.connection = frame.core === "recorded" ? "recorded" : "open";
        this.#tell.announce("connection");
        break;
      case "snap":
        this.#snapshot(frame);
        break;
      case "d":
        if (this.#events(frame) && frame.clock) this.#setClock(frame.clock);
        break;
      case "watchers":
        this.watchers = frame.count;
        this.#tell.note("live");
        break;
      case "waking":
        this.waking = frame.before;
        this.#tell.announce("connection");
        break;
      case "clock":
        this.#setClock(frame);
        break;
      case "exercise":
        if (frame.id) break;
        this.exercise_state = frame;
        this.#tell.announce("exercise");
        break;
      case "no":
        if (!frame.id) this.#tell.refuse(new Refusal(frame));
        break;
    }
    this.#tell.wake();
  }

  /** @param {{ seq: number, at_us: number, state: View, skipped: number }} frame */
  #snapshot({ seq, at_us, state, skipped }) {
    this.#recording.restart({ seq, at_us }, state);
    this.received = seq;
    // The server counts it for this connection, whatever was acknowledged on the one before.
    this.#acked = 0;
    this.#clock.reached(at_us);
    this.skipped = skipped;
    this.#tell.note("live");
    this.#tell.snapshot({ seq, at_us });
  }

  /** @param {{ ev: WireEvent[], sent_ms: number }} frame @returns {boolean} did they follow those before? */
  #events({ ev, sent_ms }) {
    const { index } = this.#recording;
    for (const wire of ev) {
      if (wire[0] <= this.received) continue;
      if (wire[0] !== this.received + 1) {
        this.#socket?.restart();
        return false;
      }
      this.#recording.append(wire);
      this.received = wire[0];
      this.#clock.reached(wire[1]);
      if (index) extend(index, wire);
    }
    this.painted.came(sent_ms);
    this.#tell.note("live");
    return true;
  }

  /** @param {Clock} clock */
  #setClock(clock) {
    const { mode, rate, reached, pause_when: pauseWhen } = this.#clock.reported;
    this.#clock.set(clock);
    if (clock.core) this.connection = clock.core === "recorded" ? "recorded" : "open";
    else if (this.connection === "recorded" && this.#socket) this.connection = "open";
    this.#tell.note("live");
    const isSame = mode === clock.mode && rate === clock.rate && reached === clock.reached && pauseWhen === clock.pause_when;
    if (!isSame) this.#tell.announce("mode");
  }
}
