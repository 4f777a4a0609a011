// One player, two drivers: the live socket and the recording. What it shows is view(state(t), t), nothing else.
//
//   state     what is shown                       who moves time          leaves it by
//   waiting   nothing yet                         -                       the first snapshot; a segment
//   head      the newest state                    the server's clock      seek, step back -> past
//   past      the state at an instant before      this page               goLive, playing (the live core plays on) or
//                                                                         stepping up to the newest event -> head
//
// In `past` the live core is paused. Live events that arrive all the same are kept, not shown.
//
// Its parts: recording/recording.js (the known history), loader.js (fetching more of it), live/feed.js (the connection),
// live/clock.js (the server's time), playback.js (this page's time), seek.js (going to an instant), picture.js (what is shown),
// view/changes.js (listeners).

import { Changes } from "../view/changes.js";
import { decode } from "../events/codec.js";
import { SCHEMA } from "../events/events.gen.js";
import { post } from "../live/lab_api.js";
import { LiveClock } from "../live/clock.js";
import { LiveFeed } from "../live/feed.js";
import { Loader } from "./loader.js";
import { Picture } from "./picture.js";
import { Playback } from "./playback.js";
import { Recording } from "../recording/recording.js";
import { Seek } from "./seek.js";
import { Refusal } from "../refusal.js";

export { Refusal };

/** @import { Aspect, Change } from "../view/changes.js" */
/** @import { AnyEvent } from "../events/events.d.ts" */
/** @import { Mode } from "../live/clock.js" */
/** @import { Place } from "../recording/recording.js" */
/** @import { Goal } from "./seek.js" */

/**
 * @typedef {{ url: string, run: string, branch: string, api?: string, schema?: string, boot?: string, at?: number | null,
 *             seq?: number | null, csrf?: string, isReadOnly?: boolean, WebSocket?: typeof WebSocket | null, fetch?: typeof fetch,
 *             now?: () => number, calm?: () => boolean }} Options
 * `api`: address of the history, ending in "/", where that is not the run's own; `isReadOnly`: nothing is asked of the lab; `calm`: is
 * motion unwanted? `url`: origin of the server; `at` (microseconds) or `seq`: open there, in the past; `WebSocket: null`: recording only
 */

/** Where motion is unwanted, the picture changes at this interval while time runs. */
const CALM_MS = 1000;

export class Player {
  /** The last refusal of something asked without waiting for the answer. @type {Refusal | null} */
  refusal = null;
  /** Called when there is something to do in the next frame; set by draw/raf.js. */
  wake = () => {};

  /** @type {"waiting" | "head" | "past"} */
  #state = "waiting";
  #options;
  #now;
  #api;
  #changes = new Changes();
  #recording;
  #loader;
  #clock;
  #feed;
  #picture;
  #past = new Playback();
  #seek;
  #tick_ms = 0;
  #told_ms = -Infinity;

  /** @param {Options} options */
  constructor(options) {
    const { url, run, branch, schema = SCHEMA, boot = "", at = null, seq = null, isReadOnly = false } = options;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const path = `${encodeURIComponent(run)}/${encodeURIComponent(branch)}/`;
    this.#api = options.api ?? `${url}/api/runs/${path}`;
    this.#recording = new Recording(this.#api, options.fetch ?? ((...args) => fetch(...args)));
    this.#picture = new Picture(this.#recording, this.#changes, this.#now);
    this.#loader = new Loader(this.#recording, this.#now, {
      note: (...aspects) => this.#changes.note(...aspects),
      announce: (...aspects) => this.#announce(...aspects),
      refuse: (refusal) => this.#refuse(refusal),
      wake: () => this.wake(),
    });
    this.#seek = new Seek(this.#recording, {
      show: (place) => this.#show(place),
      load: (what) => this.#loader.load(what),
      newest: () => this.live_seq,
      toNewest: () => this.goLive(),
      missing: () => this.#refuse(new Refusal({ code: "no-instant", what: "The recording has no such instant." })),
    });
    this.#clock = new LiveClock(this.#now);
    this.#feed = new LiveFeed({ schema, boot, isReadOnly }, this.#recording, this.#clock, {
      note: (...aspects) => this.#changes.note(...aspects),
      announce: (...aspects) => this.#announce(...aspects),
      refuse: (refusal) => this.#refuse(refusal),
      wake: () => this.wake(),
      snapshot: (place) => this.#begin(place),
    });
    if (seq) this.#leave({ seq });
    else if (at !== null) this.#leave({ at_us: at });
    this.#feed.connect(`${url.replace(/^http/, "ws")}/ws/runs/${path}`, options.WebSocket === undefined
      ? globalThis.WebSocket : options.WebSocket);
    this.#loader.load("index").then(() => this.#seek.go());
  }

  // --- what it is ----------------------------------------------------------------------------------------------

  get run() { return this.#options.run; }
  get branch() { return this.#options.branch; }
  /** The view at `at_us`; changed in place, replaced when `reset` is announced. */
  get view() { return this.#picture.view; }
  /** Seq of the last event that the view contains. */
  get seq() { return this.#picture.seq; }
  /** The instant that is shown, simulated microseconds. */
  get at_us() { return this.#picture.at_us; }
  /** The events of the last step, the newest last, with what they wrote and what was there before. */
  get lastEvents() { return this.#picture.lastEvents; }
  get isPast() { return this.#state === "past"; }
  /** Seq of the newest event known. */
  get live_seq() { return this.#feed.received || (this.index?.last_seq ?? 0); }
  /** The first event that the recording has, and where an excerpt begins. */
  get first_seq() { return this.index?.first_seq ?? 1; }
  get first_us() { return this.index?.first_at_us ?? 0; }
  /** @returns {Mode} */
  get mode() { return this.isPast ? this.#past.mode : this.#clock.reported.mode; }
  get rate() { return this.isPast ? this.#past.rate : this.#clock.reported.rate; }
  /** The rate that the engine has reached lately; null if unknown. */
  get reachedRate() { return this.isPast ? null : this.#clock.reported.reached ?? null; }
  /** The condition at which the run pauses by itself, "" for none. */
  get pauseWhen() { return this.#clock.reported.pause_when ?? ""; }
  /** The newest instant of the run that is known. */
  get live_at_us() { return Math.max(this.#clock.heard_us, this.index?.last_at_us ?? 0); }
  /** Whether an instant is sought whose data has not arrived. */
  get isSeeking() { return this.#seek.goal !== null; }
  /** The instant being sought, as far as it is known before its data has arrived; else the shown one. */
  get goal_us() { return this.#seek.place?.at_us ?? this.#seek.goal?.at_us ?? this.at_us; }
  /** When the next thing in the live core is due, or null. */
  get next_us() { return this.#clock.reported.next_us; }
  /** How many pages watch the branch; sent to pages that may act on it. */
  get watchers() { return this.#feed.watchers; }
  /** How many labs of the class are built before this one; null while it does not wait. */
  get waking() { return this.#feed.waking; }
  /** Whether the run was paused because no page was connected. */
  get rests() { return Boolean(this.#clock.reported.rests); }
  get connection() { return this.#feed.connection; }
  /** While the connection is lost: seconds until the next attempt. */
  get retry_in_s() { return this.#feed.retry_in_s; }
  /** While the connection is lost: why the server has the page wait, in words; empty if it has not. */
  get why() { return this.#feed.why; }
  /** Why the server closed the connection, or null. */
  get closed() { return this.#feed.closed; }
  /** The contents of `welcome`: name, user, rights, zookeeper and so on. */
  get welcome() { return this.#feed.welcome; }
  /** Whether the visitor has a right to the lab (lab/rights.py); unknown rights are none. @param {string} right */
  may(right) { return !this.#options.isReadOnly && (this.welcome?.rights.includes(right) ?? false); }
  /** The server speaks another vocabulary: the page has to be loaded again. */
  get outdated() { return this.#feed.outdated; }
  /** The last frame about the exercise, or null. */
  get exercise_state() { return this.#feed.exercise_state; }
  /** How many events a snapshot of the server passed over. */
  get skipped() { return this.#feed.skipped; }
  /** Index of the recording with density, marks and branches; null until it has come. */
  get index() { return this.#recording.index; }
  /** Milliseconds from the server's stamp to the painted frame, the last few thousand. */
  get latencies() { return this.#feed.painted.latencies; }

  /** An event by its number, when it is here. @param {number} seq @returns {AnyEvent | null} */
  event(seq) {
    const wire = this.#recording.event(seq);
    return wire && decode(wire);
  }

  /** Stretches of history that are here, for drawings that show more than an instant. */
  chunks() {
    return this.#recording.chunks();
  }

  /**
   * Fetches a piece of the history of a span of time, or around an instant, so that `chunks` has it.
   * @param {number} from_us
   * @param {number} to_us
   */
  want(from_us, to_us = from_us) {
    this.#loader.want(from_us, to_us);
  }

  /** Fetches the segment of an event that is not loaded. @param {number} seq */
  wantEvent(seq) {
    this.#loader.wantEvent(seq);
  }

  /** Fetches the index again: how far the recording goes now. */
  refresh = () => this.#loader.refresh();

  /**
   * @param {(change: Change) => void} listener called once a frame with what has changed, and at once for `connection`,
   *   `mode` and `refused`
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    return this.#changes.subscribe(listener);
  }

  // --- time ----------------------------------------------------------------------------------------------------

  play() { return this.#setMode("play"); }
  pause() { return this.#setMode("pause"); }
  eventPaced() { return this.#setMode("event_paced"); }

  /** @param {number} rate simulated time by wall time, 0.001 to 100 */
  setRate(rate) {
    if (!this.isPast) return this.#askTime("rate", rate);
    this.#past.setRate(rate);
    return Promise.resolve(this.#announce("mode"));
  }

  /**
   * One event on or back from where it is, or is going. At the newest event, on means: let the live core do one thing.
   * @param {1 | -1} direction
   */
  async stepEvent(direction) {
    const { goal } = this.#seek;
    const seq = this.isPast || this.#feed.received ? this.seq : this.live_seq;
    if (goal) this.#leave({ ...goal, steps: (goal.steps ?? 0) + direction });
    else if (direction < 0) {
      if (seq > this.first_seq) this.seekSeq(seq - 1);
    } else if (this.isPast) this.seekSeq(seq + 1);
    else await this.#askTime("step_event");
  }

  /** On to the next delivery of a message. */
  async stepRpc() {
    if (!this.isPast) return this.#askTime("step_rpc");
    this.#setLocalMode("pause");
    await this.#seek.go();
    for (let seq = this.seq + 1; seq < this.live_seq; seq++) {
      const wire = await this.#loader.event(seq);
      if (!wire || !this.isPast) return undefined;
      if (wire[4][0] === "RpcDelivered") {
        this.seekSeq(seq);
        return undefined;
      }
    }
    return this.goLive();
  }

  /** Shows an instant. Before the newest one this means: go to the past, and let the live core rest. @param {number} at_us */
  seekTime(at_us) {
    if (at_us >= this.live_at_us) this.goLive();
    else this.#leave({ at_us: Math.max(0, at_us) });
  }

  /** Shows the state after an event, right after it or at an instant before the next. @param {number} seq @param {number} [at_us] */
  seekSeq(seq, at_us) {
    if (this.live_seq > 0 && seq >= this.live_seq) this.goLive();
    else this.#leave({ seq: Math.max(this.first_seq, seq), ...(at_us === undefined ? {} : { at_us }) });
  }

  /** Back to the newest state, by a jump: what was missed is not played back. The lab then does `next`. @param {Mode | ""} next */
  goLive(next = "") {
    if (this.#state !== "past") return;
    this.#seek.cancel();
    this.#past.mode = "pause";
    const { received, open } = this.#feed;
    if (!received && !open) {
      this.#leave({ seq: this.live_seq }); // the end of the recording is all there is
      return;
    }
    this.#state = this.view ? "head" : "waiting";
    if (this.view && this.#recording.way(this.seq, received)) this.#show({ seq: received, at_us: this.#clock.at_us });
    else this.#feed.refetch();
    if (next && this.#state === "head" && this.may("time")) this.#askTime(next);
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
      throw new Refusal({ code: "past", what: "You are in the past." });
    return this.#feed.ask({ k: "do", line });
  }

  /**
   * Opens a branch at the instant shown and does a line there.
   * @param {string} line @param {string} [name] of the branch; both may be empty
   * @returns {Promise<{ branch: string, url: string }>}
   */
  fork(line, name = "") {
    return this.#post("fork", { seq: this.seq, at_us: this.at_us, line, name });
  }

  /** @param {string} name */
  async bookmark(name) {
    const answer = await this.#post("bookmark", { seq: this.seq, name });
    return this.refresh().then(() => answer);
  }

  /** @param {string} op start, predict, hint, skip, reset or leave @param {object} body */
  exercise(op, body) {
    return this.#feed.ask({ k: "exercise", op, ...body });
  }

  /** @param {string} line @param {number} cursor @returns {Promise<{ from: number, items: string[] }>} */
  complete(line, cursor) { return this.#feed.ask({ k: "complete", line, cursor }); }
  /** Has the run pause when a condition is met; "" takes that back. Rejects with a refusal. @param {string} condition */
  setPause(condition) { return this.#feed.ask({ k: "time", op: "pause_when", condition }); }

  /** Closes the connection without changing the place; `resume` opens it again. */
  rest() { this.#feed.rest(); }
  resume() { this.#feed.resume(); }
  /** Ends the connection. */
  close() {
    this.#feed.close();
    this.#changes.end();
  }

  // --- one frame -----------------------------------------------------------------------------------------------

  /**
   * Applies what has come and moves time on; called by draw/raf.js once a frame, before drawing.
   * @param {number} [budget_ms] stop applying events after this long and continue in the next frame
   * @returns {boolean} will the next frame be different, even if nothing comes?
   */
  tick(budget_ms = 4) {
    const now = this.#now();
    const passed_ms = Math.min(250, this.#tick_ms ? now - this.#tick_ms : 0);
    this.#tick_ms = now;
    if (this.#state === "head") this.#follow(now + budget_ms);
    else if (this.#isPlayingPast) this.#playOn(passed_ms);
    const moving = this.#state === "head" ? this.isBehind || this.#clock.runs : this.#isPlayingPast;
    if (!moving) this.#tick_ms = 0;
    if (!this.#holdsBack(now)) {
      this.#told_ms = now;
      this.#changes.notify();
    }
    return moving;
  }

  /** Where motion is unwanted: while time runs the picture jumps once a second; paced by events, with an event only. @param {number} now */
  #holdsBack(now) {
    const { mode } = this;
    const { what, reset } = this.#changes.next;
    if (mode === "pause" || reset || !this.#options.calm?.()) return false;
    return mode === "play" ? now - this.#told_ms < CALM_MS : !what.has("view");
  }

  /** Called when the frame is drawn: records its delay, and acknowledges what was shown. */
  painted() {
    if (!this.isBehind) this.#feed.drawn(this.#state === "head"); // else not all of it is drawn yet
  }

  /** Whether received events are not applied yet. */
  get isBehind() {
    return this.#state === "head" && this.seq < this.#feed.received;
  }

  get #isPlayingPast() {
    return this.#state === "past" && this.#past.mode !== "pause" && !this.#seek.goal;
  }

  /** At the head: all that has come, then the server's time. @param {number} until_ms */
  #follow(until_ms) {
    if (this.view && this.isBehind) {
      try {
        this.#picture.follow(this.#feed.received, until_ms);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        this.#feed.refetch(); // this view is not the server's any more
        return;
      }
    }
    this.#picture.moveTo(this.isBehind ? Math.max(this.at_us, this.#recording.event(this.seq)?.[1] ?? 0) : this.#clock.at_us);
  }

  /** In the past: this page's own playing. @param {number} passed_ms */
  #playOn(passed_ms) {
    const { view, seq, at_us, live_seq, live_at_us } = this;
    const next = this.#past.next({ view, seq, at_us, live_seq, live_at_us, event: (one) => this.#recording.event(one) }, passed_ms);
    if ("need" in next) this.#loader.event(next.need).then((came) => came || this.#setLocalMode("pause"));
    else if (next.at_us >= live_at_us) this.goLive(this.#past.mode);
    else this.#seek.to(next);
  }

  // --- seeking -------------------------------------------------------------------------------------------------

  /** To the past, or from one place there to another. @param {Goal} goal */
  #leave(goal) {
    if (this.#state !== "past") {
      if (this.#clock.reported.mode !== "pause" && this.may("time")) this.#askTime("pause");
      this.#past.rate = this.#clock.reported.rate;
      this.#past.mode = "pause";
      this.#state = "past";
      this.#announce("mode");
    }
    this.#past.moved();
    this.#told_ms = -Infinity; // what is asked for is shown at once
    this.#seek.to(goal);
  }

  /** @param {Place} place @returns {boolean} false when something has to be fetched before */
  #show(place) {
    if (!this.#picture.reaches(place.seq)) return false;
    try {
      this.#picture.show(place);
      this.wake();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#refuse(new Refusal({ code: "damaged", what: error.message }));
    }
    return true;
  }

  /** The live window begins with a snapshot. @param {Place} place */
  #begin(place) {
    if (this.#state === "past") {
      this.#seek.go();
      return;
    }
    this.#state = "head";
    this.#picture.view = null;
    this.#show(place);
  }

  // --- asking --------------------------------------------------------------------------------------------------

  /** @param {Mode} mode */
  async #setMode(mode) {
    if (!this.isPast) await this.#askTime(mode);
    else this.#setLocalMode(mode);
  }

  /** @param {Mode} mode */
  #setLocalMode(mode) {
    this.#past.setMode(mode);
    this.#announce("mode");
    this.wake();
  }

  /** Requests a change of time; a refusal is passed to the subscribers. @param {string} op @param {number} [value] */
  async #askTime(op, value) {
    await this.#feed.ask({ k: "time", op, value }).catch((refusal) => this.#refuse(refusal));
  }

  /** @param {string} verb @param {object} body */
  #post(verb, body) {
    const { fetch = globalThis.fetch, csrf = "" } = this.#options;
    return post(this.#api, { fetch, csrf }, verb, body);
  }

  // --- notifying ------------------------------------------------------------------------------------------------

  /** @param {Refusal} refusal */
  #refuse(refusal) {
    this.refusal = refusal;
    this.#announce("refused");
  }

  /** Notifies the listeners now, of all that was noted. @param {...Aspect} aspects */
  #announce(...aspects) {
    this.#changes.note(...aspects);
    this.#changes.notify();
    this.wake();
  }
}
