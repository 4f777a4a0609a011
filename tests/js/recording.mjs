// The recording that tests/browser/test_browser_modules.py has made, and fakes of a server that serves it.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { SCHEMA } from "../../static/lab/core/events/events.gen.js";
import { Player } from "../../static/lab/core/player/player.js";
import { apply, own } from "../../static/lab/core/view/patch.js";

const folder = process.env.HIGHWATER_RECORDING;
if (!folder) throw new Error("HIGHWATER_RECORDING names no folder: run pytest tests/browser/test_browser_modules.py, which makes one");

const load = (path) => JSON.parse(readFileSync(join(folder, path), "utf-8"));
export const index = load("index.json");
export const segments = index.segments.map(({ n }) => load(`segments/${n}.json`));
export const events = segments.flatMap(({ ev }) => ev);

/** The view after an event, folded from the first keyframe. */
export function viewAt(seq) {
  const segment = segments.findLast(({ first_seq }) => first_seq <= seq + 1);
  const view = own(segment.state);
  for (const event of segment.ev) if (event[0] <= seq) apply(view, event[5]);
  return view;
}

/** A `fetch` that serves the recording and notes what was asked. */
export function fakeFetch() {
  const asked = [];
  const fetcher = async (url, options) => {
    const path = url.slice(url.indexOf("/api/"));
    asked.push(options?.method === "POST" ? `POST ${path} ${options.body}` : path);
    const answer = (body, status = 200) => ({ ok: status < 400, status, json: async () => structuredClone(body) });
    if (path.endsWith("/index.json")) return answer(index);
    const n = /segments\/(\d+)\.json$/.exec(path)?.[1];
    if (n !== undefined) return segments[n] ? answer(segments[n]) : answer({ what: "There is no such segment." }, 404);
    if (path.endsWith("/fork")) return answer({ branch: "main-2", url: "/r/r/main-2" });
    return answer({ what: `Nothing is at ${path}.` }, 404);
  };
  fetcher.asked = asked;
  return fetcher;
}

/** A WebSocket class whose server is the test: `sockets` has one entry a connection. */
export function fakeSockets() {
  const sockets = [];
  class FakeSocket {
    readyState = 0;
    sent = [];
    constructor(url) {
      this.url = url;
      sockets.push(this);
    }
    send(text) {
      this.sent.push(JSON.parse(text));
    }
    close() {
      this.readyState = 3;
    }
    // what the test does
    open({ boot = "b1", schema = SCHEMA, core = "live", rights = ["act", "export", "fork", "see", "time"] } = {}) {
      this.readyState = 1;
      this.onopen();
      this.say({ k: "welcome", run: "r", branch: "main", boot, schema, core, name: "test", zookeeper: "", user: "u", rights });
    }
    say(frame) {
      this.onmessage({ data: JSON.stringify(frame) });
    }
    snap(seq) {
      this.say({ k: "snap", seq, at_us: events[seq - 1][1], state: viewAt(seq), skipped: 0 });
    }
    deltas(from, to) {
      this.say({ k: "d", ev: events.slice(from - 1, to), sent_ms: Date.now() });
    }
    lose(code = 1006, reason = "") {
      this.readyState = 3;
      this.onclose({ code, reason });
    }
    last(k) {
      return this.sent.findLast((frame) => frame.k === k);
    }
    done(frame = {}) {
      this.say({ k: "done", id: this.sent.findLast(({ id }) => id).id, ...frame });
    }
  }
  return { sockets, FakeSocket };
}

/** Lets everything run that waits for a promise. */
export const settle = async () => {
  for (let i = 0; i < 40; i++) await Promise.resolve();
};

export const END = events.length;
export const at = (seq) => events[seq - 1][1];

/** A player on a live branch that has just got a snapshot of event `seq`. */
export async function live(seq, options = {}) {
  const { sockets, FakeSocket } = fakeSockets();
  const fetch = fakeFetch();
  const clock = { ms: 1000 };
  const player = new Player({ url: "http://lab", run: "r", branch: "main", WebSocket: FakeSocket, fetch, now: () => clock.ms, ...options });
  const changes = [];
  player.subscribe((change) => changes.push(change));
  sockets[0].open();
  if (seq) sockets[0].snap(seq);
  await settle();
  player.tick();
  return { player, socket: sockets[0], sockets, fetch, clock, changes };
}

/** A player on the recording alone. */
export async function recorded(options = {}) {
  const fetch = fakeFetch();
  const clock = { ms: 1000 };
  const player = new Player({ url: "http://lab", run: "r", branch: "main", WebSocket: null, fetch, now: () => clock.ms, ...options });
  await settle();
  return { player, fetch, clock };
}

/** A frame with the clock at an event. */
export const clockOf = (seq, mode = "pause", rate = 1) => ({ k: "clock", at_us: at(seq), mode, rate, horizon_us: at(seq) + 50_000, next_us: null });
