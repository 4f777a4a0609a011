// One player, two drivers: the live socket and the recording. What it shows is view(state(t), t), nothing else.
//
//   state     what is shown                       who moves time          leaves it by
//   waiting   nothing yet                         -                       the first snapshot; a segment
//   head      the newest state                    the server's clock      seek, step back -> past
//   past      the state at an instant before      this page               goLive, playing or stepping up to the newest
//                                                                         event -> head
//
// In `past` the live core stands still: going there pauses it. Live events that come all the same are kept, not shown.

import { decode, sentence } from "./codec.js";
import { SCHEMA } from "./events.gen.js";
import { Recording } from "./recording.js";
import { Refusal, Socket } from "./socket.js";
import { pacedMs } from "./timemap.js";

export { Refusal };

/** @import { AnyEvent, EventKind, Patch, WireEvent } from "./events.d.ts" */
/** @import { View } from "./view.d.ts" */
/** @import { Place, Target } from "./recording.js" */

/**
 * @typedef {"pause" | "play" | "event_paced"} Mode
 * @typedef {"connecting" | "open" | "lost" | "recorded"} Connection
 * @typedef {AnyEvent & { patch: Patch, previous: Patch }} AppliedEvent an event, what it wrote, and what was there before
 * @typedef {"view" | "time" | "live" | "mode" | "connection" | "index" | "exercise" | "refused"} Aspect
 * @typedef {{ what: Set<Aspect>, touched: Set<string>, reset: boolean }} Change
 *   `touched`: the first two keys of the paths that were written ("replicas/orders-0@b1"); `reset`: the whole view is new
 * @typedef {{ k: "clock", at_us: number, mode: Mode, rate: number, horizon_us: number, next_us: number | null,
 *             watchers: number, core?: "live" | "recorded" }} Clock
 * @typedef {{ url: string, run: string, branch: string, schema?: string, boot?: string, at?: number | null,
 *             seq?: number | null, csrf?: string, WebSocket?: typeof WebSocket | null, fetch?: typeof fetch,
 *             now?: () => number }} Options
 *   `url`: origin of the server; `at` (microseconds) or `seq`: open there, in the past; `WebSocket: null`: recording only
 */

/** More waiting events than this are applied in one go, without drawing between them. */
const BACKLOG = 2000;
/** How many of the events of one step `lastEvents` tells. */
const LAST_EVENTS = 200;
const LATENCIES = 4096;
/** After history could not be fetched for a drawing, this long until the next attempt. */
const WANT_AGAIN_MS = 2000;
/** A seek that needs more fetches than this asks for an instant that the recording does not have. */
const FETCHES_MAX = 4;
/** Kinds that get a mark on the timeline of the whole run, beside those that the index already has. @type {Set<EventKind>} */
const MARKED = new Set([
  "BrokerStopped", "BrokerStarted", "BrokerExiting", "BrokerFrozen", "BrokerThawed", "LinkCut", "LinkRestored", "ControllerElected",
  "LeaderElected", "IsrShrunk", "IsrExpanded", "LogTruncated", "InvariantViolated",
]);

export class Player {
  /** @type {View | null} the view at `at_us`; changed in place, replaced when `reset` is announced */
  view = null;
  /** Seq of the last event that the view contains. */
  seq = 0;
  /** The instant that is shown, simulated microseconds. */
  at_us = 0;
  /** @type {Connection} */
  connection = "connecting";
  /** While `lost`: seconds until the next attempt. */
  retry_in_s = 0;
  /** Why the server will not have us, or null. @type {{ code: number, reason: string } | null} */
  closed = null;
  /** What `welcome` said: name, user, owner, zookeeper and so on. @type {Record<string, any> | null} */
  welcome = null;
  /** The server speaks another vocabulary: the page has to be loaded again. */
  outdated = false;
  /** The last refusal of something asked without waiting for the answer. @type {Refusal | null} */
  refusal = null;
  /** The last frame about the exercise. @type {Record<string, any> | null} */
  exercise_state = null;
  /** How many events a snapshot of the server passed over. */
  skipped = 0;
  /** Is a segment of the recording on its way? */
  loading = false;
  /** Called when there is something to do in the next frame; set by draw/raf.js. */
  wake = () => {};
  /** Milliseconds from the server's stamp to the painted frame, the last few thousand. @type {number[]} */
  latencies = [];

  /** @type {"waiting" | "head" | "past"} */
  #state = "waiting";
  #options;
  #now;
  /** @type {Recording} */
  #recording;
  /** @type {Socket | null} */
  #socket = null;
  #boot;
  /** Seq of the last event that came through the socket; 0 before the first snapshot. */
  #received = 0;
  /** @type {Clock} */
  #clock = { k: "clock", at_us: 0, mode: "pause", rate: 0.0025, horizon_us: 0, next_us: null, watchers: 1 };
  #clock_ms = 0;
  #live_event_us = 0;
  /** In the past: what this page does with time. @type {Mode} */
  #mode = "pause";
  #rate = 0.0025;
  #want_after_ms = 0;
  /** Where to go as soon as what is needed is here. @type {Target | null} */
  #target = null;
  #seeking = false;
  #tick_ms = 0;
  /** What playing the past has moved beyond `at_us`, less than a microsecond. */
  #fraction_us = 0;
  /** @type {{ from_us: number, to_us: number, wall_ms: number } | null} */
  #stretch = null;
  /** @type {WireEvent[]} */
  #last = [];
  /** @type {Set<(change: Change) => void>} */
  #listeners = new Set();
  /** @type {Change} */
  #change = emptyChange();
  /** @type {number[]} stamps of frames that were not painted yet */
  #stamps = [];
  #acked = 0;

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#boot = options.boot ?? "";
    const path = `${encodeURIComponent(options.run)}/${encodeURIComponent(options.branch)}/`;
    this.#recording = new Recording(`${options.url}/api/runs/${path}`, options.fetch ?? ((...args) => fetch(...args)));
    if (options.seq) this.#leave({ seq: options.seq });
    else if (options.at !== null && options.at !== undefined) this.#leave({ at_us: options.at });
    const WebSocketClass = options.WebSocket === undefined ? globalThis.WebSocket : options.WebSocket;
    if (WebSocketClass) this.#connect(`${options.url.replace(/^http/, "ws")}/ws/runs/${path}`, WebSocketClass);
    else this.connection = "recorded";
    this.#load("index").then(() => this.#seek());
  }

  // --- what it is ----------------------------------------------------------------------------------------------

  get run() { return this.#options.run; }
  get branch() { return this.#options.branch; }
  get isPast() { return this.#state === "past"; }
  /** Seq of the newest event known. */
  get live_seq() { return this.#received || (this.index?.last_seq ?? 0); }
  /** @returns {Mode} */
  get mode() { return this.isPast ? this.#mode : this.#clock.mode; }
  get rate() { return this.isPast ? this.#rate : this.#clock.rate; }
  /** The newest instant of the run that is known. */
  get live_at_us() { return Math.max(this.#clock.at_us, this.#live_event_us, this.#recording.index?.last_at_us ?? 0); }
  /** When the next thing in the live core is due, or null. */
  get next_us() { return this.#clock.next_us; }
  get watchers() { return this.#clock.watchers; }
  get owner() { return this.welcome?.owner ?? false; }
  /** Index of the recording with density, marks and branches; null until it has come. */
  get index() { return this.#recording.index; }

  /** The events of the last step, the newest last, with what they wrote and what was there before. @returns {AppliedEvent[]} */
  get lastEvents() {
    return this.#last.map((wire) => {
      const previous = this.#recording.inverse(wire[0]) ?? [];
      return /** @type {AppliedEvent} */ ({ ...decode(wire), patch: wire[5], previous });
    });
  }

  /** An event by its number, when it is here. @param {number} seq @returns {AnyEvent | null} */
  event(seq) {
    const wire = this.#recording.event(seq);
    return wire && decode(wire);
  }

  /** Stretches of history that are here, for drawings that show more than an instant. */
  chunks() {
    return this.#recording.chunks();
  }

  /** Fetches history around an instant, so that `chunks` has it. @param {number} at_us */
  want(at_us) {
    const found = this.#recording.locate({ at_us });
    if (this.loading || this.#now() < this.#want_after_ms || "place" in found) return;
    this.#load(found.need).then((came) => {
      if (came) this.#announce("index");
      else this.#want_after_ms = this.#now() + WANT_AGAIN_MS;
    });
  }

  /**
   * @param {(change: Change) => void} listener called once a frame with what has changed, and at once for `connection`,
   *   `mode` and `refused`
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // --- time ----------------------------------------------------------------------------------------------------

  play() { return this.#setMode("play"); }
  pause() { return this.#setMode("pause"); }
  eventPaced() { return this.#setMode("event_paced"); }

  /** @param {number} rate simulated time by wall time, 0.001 to 100 */
  setRate(rate) {
    if (!this.isPast) return this.#askTime("rate", rate);
    this.#rate = rate;
    this.#stretch = null;
    this.#announce("mode");
    return Promise.resolve();
  }

  /** One event on or back. At the newest event, on means: let the live core do one thing. @param {1 | -1} direction */
  async stepEvent(direction) {
    if (direction < 0) {
      if (this.seq > 1) this.seekSeq(this.seq - 1);
    } else if (!this.isPast) {
      await this.#askTime("step_event");
    } else if (this.seq + 1 >= this.live_seq) {
      this.goLive();
    } else {
      this.seekSeq(this.seq + 1);
    }
  }

  /** On to the next delivery of a message. */
  async stepRpc() {
    if (!this.isPast) {
      await this.#askTime("step_rpc");
      return;
    }
    this.#setLocalMode("pause");
    for (let seq = this.seq + 1; seq < this.live_seq; seq++) {
      const wire = await this.#eventLoaded(seq);
      if (!wire || !this.isPast) return;
      if (wire[4][0] === "RpcDelivered") {
        this.seekSeq(seq);
        return;
      }
    }
    this.goLive();
  }

  /** Shows an instant. Before the newest one this means: go to the past, and let the live core rest. @param {number} at_us */
  seekTime(at_us) {
    if (at_us >= this.live_at_us) this.goLive();
    else this.#leave({ at_us: Math.max(0, at_us) });
  }

  /** Shows the state right after an event. @param {number} seq */
  seekSeq(seq) {
    if (this.live_seq > 0 && seq >= this.live_seq) this.goLive();
    else this.#leave({ seq: Math.max(1, seq) });
  }

  /** Back to the newest state, by a jump: what was missed is not played back. */
  goLive() {
    if (this.#state !== "past") return;
    this.#target = null;
    this.#mode = "pause";
    if (!this.#received && !this.#socket?.open) {
      this.#leave({ seq: this.live_seq }); // the end of the recording is all there is
      return;
    }
    this.#state = this.view ? "head" : "waiting";
    if (this.view && this.#recording.way(this.seq, this.#received)) this.#show({ seq: this.#received, at_us: this.#liveTime() });
    else this.#refetch();
    this.#announce("mode", "time");
  }

  // --- acting --------------------------------------------------------------------------------------------------

  /**
   * Sends one line of the shell.
   * @param {string} line
   * @returns {Promise<{ seq: number, command: number }>}
   * @throws {Refusal} `code` is "past" when the view is in the past: fork instead
   */
  async do(line) {
    if (this.isPast)
      throw new Refusal({ code: "past", what: "You are in the past.", todo: "Fork here, or go back to now." });
    return this.#ask({ k: "do", line });
  }

  /** Opens a branch at the event shown and does a line there. @param {string} line may be empty @returns {Promise<{ branch: string, url: string }>} */
  fork(line) {
    return this.#post("fork", { seq: this.seq, line });
  }

  /** @param {string} name */
  async bookmark(name) {
    const answer = await this.#post("bookmark", { seq: this.seq, name });
    await this.#load("index");
    this.#announce("index");
    return answer;
  }

  /** @param {string} op start, predict, hint, reset or leave @param {object} body */
  exercise(op, body) {
    return this.#ask({ k: "exercise", op, ...body });
  }

  /** @param {string} line @param {number} cursor @returns {Promise<{ from: number, items: string[] }>} */
  complete(line, cursor) {
    return this.#ask({ k: "complete", line, cursor });
  }

  /** Ends the connection. */
  close() {
    this.#socket?.close();
    this.#listeners.clear();
  }

  // --- one frame -----------------------------------------------------------------------------------------------

  /**
   * Applies what has come and moves time on; called by draw/raf.js once a frame, before drawing.
   * @param {number} [budget_ms] stop applying events after this long and go on in the next frame
   * @returns {boolean} will the next frame be different, even if nothing comes?
   */
  tick(budget_ms = 4) {
    const now = this.#now();
    const passed_ms = Math.min(250, this.#tick_ms ? now - this.#tick_ms : 0);
    this.#tick_ms = now;
    if (this.#state === "head") this.#follow(now, budget_ms);
    else if (this.#state === "past" && this.#mode !== "pause" && !this.#target) this.#playOn(passed_ms);
    const moving = this.#isMoving(now);
    if (!moving) this.#tick_ms = 0;
    this.#flush();
    return moving;
  }

  /** Called when the frame is drawn: notes how late it was, and tells the server what has been shown. @param {number} fps */
  painted(fps) {
    const wall = Date.now();
    const lag_ms = this.#stamps.length ? wall - this.#stamps[0] : 0;
    if (this.isBehind) return; // not all of it is drawn yet
    if (this.#state === "head") for (const stamp of this.#stamps) this.latencies.push(wall - stamp);
    if (this.latencies.length > LATENCIES) this.latencies.splice(0, this.latencies.length - LATENCIES);
    this.#stamps.length = 0;
    if (this.#acked === this.#received) return;
    this.#acked = this.#received;
    this.ack(lag_ms / 1000, fps);
  }

  /** @param {number} lag seconds from the server's stamp to the painted frame @param {number} fps */
  ack(lag, fps) {
    this.#socket?.send({ k: "ack", seq: this.#received, lag: Math.round(lag * 1000) / 1000, fps: Math.round(fps) });
  }

  /** Have events come that are not applied yet? */
  get isBehind() {
    return this.#state === "head" && this.seq < this.#received;
  }

  /** @param {number} now */
  #isMoving(now) {
    if (this.#state === "past") return this.#mode !== "pause" && !this.#target;
    if (this.#state !== "head") return false;
    return this.isBehind || (this.#clock.mode !== "pause" && this.#extrapolated(now) < this.#clock.horizon_us);
  }

  /** At the head: all that has come, then the server's time. @param {number} now @param {number} budget_ms */
  #follow(now, budget_ms) {
    if (this.view && this.isBehind) {
      const all = this.#received - this.seq > BACKLOG;
      const first = this.seq + 1;
      try {
        for (let n = 1; this.seq < this.#received; n++) {
          this.#recording.forward(this.view, this.seq + 1, this.#change.touched);
          this.seq++;
          if (!all && n % 16 === 0 && this.#now() - now > budget_ms) break;
        }
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        this.#refetch(); // this view is not the server's any more
        return;
      }
      this.#remember(Math.max(first, this.seq - LAST_EVENTS + 1), this.seq);
      this.#note("view");
    }
    const at_us = this.isBehind ? Math.max(this.at_us, this.#recording.event(this.seq)?.[1] ?? 0) : this.#liveTime();
    if (at_us !== this.at_us) {
      this.at_us = at_us;
      this.#note("time");
    }
  }

  #liveTime() {
    return Math.max(this.#live_event_us, this.#extrapolated(this.#now()));
  }

  /** @param {number} now */
  #extrapolated(now) {
    const { at_us, mode, rate, horizon_us } = this.#clock;
    if (mode === "pause") return at_us;
    return Math.max(at_us, Math.min(horizon_us, Math.floor(at_us + (now - this.#clock_ms) * rate * 1000)));
  }

  /** In the past: this page's own playing. @param {number} passed_ms */
  #playOn(passed_ms) {
    let left_ms = passed_ms;
    let at_us = this.at_us + this.#fraction_us;
    if (this.#mode === "play") at_us += left_ms * 1000 * this.#rate;
    while (this.#mode === "event_paced" && left_ms > 0) {
      const stretch = (this.#stretch ??= this.#nextStretch(at_us));
      if (!stretch) return;
      const { from_us, to_us, wall_ms } = stretch;
      const per_ms = (to_us - from_us) / Math.max(wall_ms, 1e-9);
      const end_ms = (to_us - at_us) / per_ms;
      if (end_ms > left_ms) {
        at_us += left_ms * per_ms;
        break;
      }
      at_us = to_us;
      left_ms -= end_ms;
      this.#stretch = null;
      if (wall_ms > 0) break; // what this instant did is on screen for a frame at least
    }
    if (at_us >= this.live_at_us) this.goLive();
    else {
      this.#fraction_us = at_us % 1;
      this.#target = { at_us: Math.floor(at_us) };
      this.#seek();
    }
  }

  /** The stretch up to the next thing worth seeing: a delivery while messages are under way, any event otherwise; null
   * while that has to be fetched. @param {number} from_us */
  #nextStretch(from_us) {
    const moving = Object.values(this.view?.rpcs ?? {}).some((rpc) => !rpc.held);
    for (let seq = this.seq + 1; seq <= this.live_seq; seq++) {
      const wire = this.#recording.event(seq);
      if (!wire) {
        this.#eventLoaded(seq).then((came) => came || this.#setLocalMode("pause"));
        return null;
      }
      const kind = wire[4][0];
      if (moving && kind !== "RpcDelivered" && kind !== "RpcDropped") continue;
      if (wire[1] > from_us) return { from_us, to_us: wire[1], wall_ms: pacedMs(wire[1] - from_us, moving, this.#rate) };
    }
    return { from_us, to_us: this.live_at_us, wall_ms: pacedMs(this.live_at_us - from_us, moving, this.#rate) };
  }

  // --- seeking -------------------------------------------------------------------------------------------------

  /** To the past, or from one place there to another. @param {Target} target */
  #leave(target) {
    if (this.#state !== "past") {
      if (this.#clock.mode !== "pause" && this.owner) this.#askTime("pause");
      this.#rate = this.#clock.rate;
      this.#mode = "pause";
      this.#state = "past";
      this.#announce("mode");
    }
    this.#stretch = null;
    this.#fraction_us = 0;
    this.#target = target;
    this.#seek();
  }

  /** Goes to the target, as soon as what it needs has been fetched; a newer target replaces it on the way. */
  async #seek() {
    if (this.#seeking) return;
    this.#seeking = true;
    let fetches = 0;
    /** @type {Target | null} */
    let last = null;
    while (this.#target && this.#state === "past") {
      if (this.#target !== last) fetches = 0;
      last = this.#target;
      const need = this.#lacks(this.#target);
      if (need === null) continue;
      const came = ++fetches <= FETCHES_MAX && (await this.#load(need));
      if (came || this.#target !== last) continue;
      this.#target = null;
      if (fetches > FETCHES_MAX)
        this.#refuse(new Refusal({ code: "no-instant", what: "The recording has no such instant.", todo: "Pick one on the timeline." }));
    }
    this.#seeking = false;
  }

  /** Shows the target if that is possible now; says what has to be fetched first if not. @param {Target} target */
  #lacks(target) {
    const found = this.#recording.locate(target);
    if ("need" in found) return found.need;
    if (!this.#recording.way(this.view && this.seq, found.place.seq)) return this.#recording.segmentOf(found.place.seq);
    this.#target = null;
    this.#show(found.place);
    return null;
  }

  /** @param {Place} place */
  #show({ seq, at_us }) {
    const before = this.view;
    const from = this.seq;
    try {
      this.view = this.#recording.walk(before, from, seq, this.#change.touched);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.view = null;
      this.#refuse(new Refusal({ code: "damaged", what: error.message, todo: "Reload the page." }));
      return;
    }
    this.seq = seq;
    this.at_us = at_us;
    if (seq > from && this.view === before) this.#remember(Math.max(from + 1, seq - LAST_EVENTS + 1), seq);
    else if (seq !== from) this.#remember(seq, seq);
    if (this.view !== before) this.#change.reset = true;
    if (seq !== from || this.#change.reset) this.#note("view");
    this.#note("time");
    this.wake();
  }

  /** @param {number} first @param {number} last */
  #remember(first, last) {
    this.#last = [];
    for (let seq = first; seq <= last; seq++) {
      const wire = this.#recording.event(seq);
      if (wire) this.#last.push(wire);
    }
  }

  /** @param {number} seq @returns {Promise<WireEvent | null>} */
  async #eventLoaded(seq) {
    for (let tries = 0; tries < 3; tries++) {
      const wire = this.#recording.event(seq);
      if (wire) return wire;
      const found = this.#recording.locate({ seq });
      if (!("need" in found) || !(await this.#load(found.need))) return null;
    }
    return null;
  }

  /** @param {"index" | number} what @returns {Promise<boolean>} did it come? */
  async #load(what) {
    this.loading = true;
    try {
      await this.#recording.load(what);
      if (what === "index") this.#note("index");
      return true;
    } catch (error) {
      this.#refuse(new Refusal({ code: "history", what: /** @type {Error} */ (error).message, todo: "Try again." }));
      return false;
    } finally {
      this.loading = false;
      this.wake();
    }
  }

  // --- the server ----------------------------------------------------------------------------------------------

  /** @param {string} url @param {typeof WebSocket} WebSocketClass */
  #connect(url, WebSocketClass) {
    this.#socket = new Socket(url, {
      schema: this.#options.schema ?? SCHEMA,
      have: () => this.#received,
      boot: () => this.#boot,
      onFrame: (frame) => this.#receive(frame),
      onState: (state, retry_in_s, final) => {
        this.connection = state === "open" && this.welcome?.core === "recorded" ? "recorded" : state;
        this.retry_in_s = retry_in_s;
        this.closed = final;
        this.#announce("connection");
      },
    }, WebSocketClass);
  }

  /** Asks for a snapshot: what this page has is not what the server has. */
  #refetch() {
    this.#received = 0;
    this.#socket?.restart();
  }

  /** @param {any} frame */
  #receive(frame) {
    switch (frame.k) {
      case "welcome":
        this.welcome = frame;
        this.#boot = frame.boot;
        this.outdated = frame.schema !== (this.#options.schema ?? SCHEMA);
        this.connection = frame.core === "recorded" ? "recorded" : "open";
        this.#announce("connection");
        break;
      case "snap":
        this.#snapshot(frame);
        break;
      case "d":
        this.#events(frame);
        break;
      case "clock":
        this.#setClock(frame);
        break;
      case "exercise":
        if (!frame.id) {
          this.exercise_state = frame;
          this.#announce("exercise");
        }
        break;
      case "no":
        if (!frame.id) this.#refuse(new Refusal(frame));
        break;
    }
    this.wake();
  }

  /** @param {{ seq: number, at_us: number, state: View, skipped: number }} frame */
  #snapshot({ seq, at_us, state, skipped }) {
    this.#recording.restart({ seq, at_us }, state);
    this.#received = seq;
    this.#live_event_us = at_us;
    this.skipped = skipped;
    this.#note("live");
    if (this.#state === "past") {
      this.#seek();
      return;
    }
    this.#state = "head";
    this.view = null;
    this.#show({ seq, at_us });
  }

  /** @param {{ ev: WireEvent[], sent_ms: number }} frame */
  #events({ ev, sent_ms }) {
    for (const wire of ev) {
      if (wire[0] <= this.#received) continue;
      if (wire[0] !== this.#received + 1) {
        this.#socket?.restart();
        return;
      }
      this.#recording.append(wire);
      this.#received = wire[0];
      this.#live_event_us = wire[1];
      this.#extendIndex(wire);
    }
    this.#stamps.push(sent_ms);
    this.#note("live");
  }

  /** @param {Clock} clock */
  #setClock(clock) {
    const { mode, rate } = this.#clock;
    this.#clock = clock;
    this.#clock_ms = this.#now();
    if (clock.core) this.connection = clock.core === "recorded" ? "recorded" : "open";
    else if (this.connection === "recorded" && this.#socket) this.connection = "open";
    this.#note("live");
    if (mode !== clock.mode || rate !== clock.rate) this.#announce("mode");
  }

  /** Keeps the index's density and marks up to the newest event. @param {WireEvent} wire */
  #extendIndex(wire) {
    const index = this.index;
    if (!index || wire[0] <= index.last_seq) return;
    const [seq, at_us, , , [kind]] = wire;
    index.last_seq = seq;
    index.last_at_us = at_us;
    const { counts, bucket_us } = index.density;
    const bucket = Math.floor(at_us / bucket_us);
    while (counts.length <= bucket) counts.push(0);
    counts[bucket]++;
    if (MARKED.has(kind)) index.marks.push({ seq, at_us, kind, ...this.#sentences(wire) });
  }

  /** @param {WireEvent} wire */
  #sentences(wire) {
    const event = decode(wire);
    return { en: sentence(event, "en"), zh: sentence(event, "zh-CN") };
  }

  /** @param {Mode} mode */
  async #setMode(mode) {
    if (!this.isPast) await this.#askTime(mode);
    else this.#setLocalMode(mode);
  }

  /** @param {Mode} mode */
  #setLocalMode(mode) {
    this.#mode = mode;
    this.#stretch = null;
    this.#announce("mode");
    this.wake();
  }

  /** Asks for a change of time; a refusal goes to the subscribers. @param {string} op @param {number} [value] */
  async #askTime(op, value) {
    await this.#ask({ k: "time", op, value }).catch((refusal) => this.#refuse(refusal));
  }

  /** @param {object} frame @returns {Promise<any>} */
  #ask(frame) {
    if (this.#socket) return this.#socket.request(frame);
    return Promise.reject(new Refusal({ code: "recorded", what: "This is a recording; there is no lab behind it." }));
  }

  /** @param {string} path @param {object} body @returns {Promise<any>} */
  async #post(path, body) {
    const { url, run, branch, csrf = "" } = this.#options;
    const request = this.#options.fetch ?? fetch;
    const response = await request(`${url}/api/runs/${encodeURIComponent(run)}/${encodeURIComponent(branch)}/${path}`, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-CSRFToken": csrf },
      body: JSON.stringify(body),
    });
    const answer = await response.json().catch(() => ({ what: `HTTP status ${response.status}` }));
    if (!response.ok) throw new Refusal(answer);
    return answer;
  }

  // --- telling -------------------------------------------------------------------------------------------------

  /** @param {Refusal} refusal */
  #refuse(refusal) {
    this.refusal = refusal;
    this.#announce("refused");
  }

  /** Will be told with the next frame. @param {Aspect} aspect */
  #note(aspect) {
    this.#change.what.add(aspect);
  }

  /** Is told now, with all that was noted. @param {...Aspect} aspects */
  #announce(...aspects) {
    for (const aspect of aspects) this.#note(aspect);
    this.#flush();
    this.wake();
  }

  #flush() {
    if (this.#change.what.size === 0) return;
    const change = this.#change;
    this.#change = emptyChange();
    for (const listener of this.#listeners) listener(change);
  }
}

/** @returns {Change} */
function emptyChange() {
  return { what: new Set(), touched: new Set(), reset: false };
}
