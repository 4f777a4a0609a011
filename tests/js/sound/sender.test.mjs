import assert from "node:assert/strict";
import { test } from "node:test";

import { PIECE_SLICES, SoundRecorder } from "../../../static/lab/core/sound/recorder.js";
import { SoundSender } from "../../../static/lab/core/sound/sender.js";

/** What a page keeps, without a database. @param {{ full?: boolean }} [how] */
function outboxOf({ full = false } = {}) {
  const pieces = new Map();
  const slices = [];
  const key = (piece, index) => slices.findIndex((one) => one.piece === piece && one.index === index);
  return {
    putPiece: async (piece) => void pieces.set(piece.piece, piece),
    putSlice: async (piece, index, data) => {
      if (full) throw new DOMException("", "QuotaExceededError");
      slices.push({ piece, index, data });
    },
    pieces: async () => [...pieces.values()],
    slices: async (piece) => slices.filter((one) => one.piece === piece),
    waiting: async () => slices.length,
    dropSlice: async (piece, index) => void slices.splice(key(piece, index), 1),
    dropPiece: async (piece) => void pieces.delete(piece),
  };
}

/** @param {(address: string) => number} status @param {ReturnType<typeof outboxOf>} outbox */
function senderOf(status, outbox = outboxOf(), sleep = async () => {}) {
  const heard = { asked: /** @type {string[]} */ ([]), codes: /** @type {number[]} */ ([]), ends: /** @type {string[]} */ ([]),
    refusals: /** @type {any[]} */ ([]), failed: 0 };
  const sender = new SoundSender(outbox, "/audio/", {
    csrf: "", now_ms: () => 0, sleep,
    fetch: async (address, request) => {
      heard.asked.push(String(address).split("?")[0]);
      const code = status(String(address));
      heard.codes.push(code);
      if (code === 200 && String(address).endsWith("/end")) heard.ends.push(String(request?.body));
      return { ok: code === 200, status: code, json: async () => ({ what: `refused ${code}` }) };
    },
    told: ({ refusal }) => refusal && heard.refusals.push(refusal.what),
    failed: () => heard.failed++,
  });
  return { sender, heard, outbox };
}

const slice = () => new Blob([new Uint8Array(4)]);

test("while the server's disk is full, sound is stored, and sent with the next slices", async () => {
  let code = 507;
  const { sender, heard, outbox } = senderOf(() => code);
  const { taker } = sender;
  taker.began({ piece: 1, at_us: 1000, type: "audio/webm" });
  taker.slice(1, 0, slice());
  taker.ended(1, 1, 2e6);
  await sender.send();
  assert.equal(heard.refusals.at(-1), "refused 507");
  assert.equal(await outbox.waiting(), 1, "it is not lost");
  code = 200;
  heard.asked.length = 0;
  await sender.send();
  assert.deepEqual(heard.asked, ["/audio/1/0", "/audio/1/end"]);
  assert.equal(await outbox.waiting(), 0);
});

test("the end of a piece that the server has no space for is sent again", async () => {
  let endCode = 507;
  const { sender, heard } = senderOf((address) => (address.endsWith("/end") ? endCode : 200));
  const { taker } = sender;
  taker.began({ piece: 1, at_us: 1000, type: "audio/webm" });
  taker.slice(1, 0, slice());
  taker.ended(1, 1, 2e6);
  await sender.send();
  assert.deepEqual([heard.ends, heard.refusals.at(-1)], [[], "refused 507"]);
  endCode = 200;
  await sender.send();
  assert.deepEqual(heard.asked, ["/audio/1/0", ...heard.asked.slice(1).map(() => "/audio/1/end")]);
  assert.deepEqual(heard.ends.map((one) => JSON.parse(one).slices), [1]);
});

test("sound that the server refuses for good is dropped and reported", async () => {
  const { sender, heard, outbox } = senderOf((address) => (address.includes("/1/0?") ? 409 : 200));
  const { taker } = sender;
  taker.began({ piece: 1, at_us: 1000, type: "audio/webm" });
  taker.slice(1, 0, slice());
  taker.slice(1, 1, slice());
  taker.ended(1, 2, 4e6);
  await sender.send();
  assert.deepEqual(heard.refusals, ["refused 409"]);
  assert.equal(heard.asked.at(-1), "/audio/1/end");
  assert.equal(await outbox.waiting(), 0);
});

test("a piece that ends while offline arrives completely", async () => {
  let isAway = true;
  const { sender, heard, outbox } = senderOf(() => (isAway ? 503 : 200), outboxOf(), async () => {
    // The next look at the network, a minute later: the piece has ended, and the next one has begun.
    if (!isAway) return;
    for (let n = 1; n < 5; n++) taker.slice(1, n, slice());
    taker.ended(1, 5, 10e6);
    taker.began({ piece: 2, at_us: 2000, type: "audio/webm" });
    taker.slice(2, 0, slice());
    await new Promise((resolve) => setTimeout(resolve));
    isAway = false;
  });
  const { taker } = sender;
  taker.began({ piece: 1, at_us: 1000, type: "audio/webm" });
  taker.slice(1, 0, slice());
  await sender.send();
  await sender.send();
  const arrived = heard.asked.filter((_, i) => heard.codes[i] === 200);
  assert.deepEqual(arrived, [...[0, 1, 2, 3, 4].map((n) => `/audio/1/${n}`), "/audio/1/end", "/audio/2/0"]);
  assert.deepEqual(JSON.parse(heard.ends[0]), { slices: 5, length_us: 10e6, gives_up: true });
  assert.equal(await outbox.waiting(), 0);
});

test("sound that the browser cannot store is reported", async () => {
  const { sender, heard } = senderOf(() => 200, outboxOf({ full: true }));
  const { taker } = sender;
  taker.began({ piece: 1, at_us: 1000, type: "audio/webm" });
  taker.slice(1, 0, slice());
  await sender.send();
  assert.equal(heard.failed, 1);
});

/** @param {{ begins: number }} how after so many recorders none can begin any more */
function recorderType({ begins }) {
  const made = /** @type {any[]} */ ([]);
  class Recorder extends EventTarget {
    static isTypeSupported = () => true;
    state = "inactive";
    constructor() {
      super();
      made.push(this);
    }

    start() {
      if (made.length > begins) throw new DOMException("", "NotSupportedError");
      this.state = "recording";
      this.dispatchEvent(new Event("start"));
    }

    stop() {
      this.state = "inactive";
      this.dispatchEvent(new Event("stop"));
    }

    data() {
      this.dispatchEvent(Object.assign(new Event("dataavailable"), { data: slice() }));
    }
  }
  return { Recorder, made };
}

const taker = { began: () => {}, slice: () => {}, ended: () => {} };

test("an end of the recording by the browser is reported, a requested end is not", async () => {
  let fails = 0;
  const { Recorder, made } = recorderType({ begins: 9 });
  const first = new SoundRecorder(null, () => 0, taker, Recorder, () => fails++);
  made[0].stop();
  assert.equal(fails, 1);
  await first.stop();
  const second = new SoundRecorder(null, () => 0, taker, Recorder, () => fails++);
  await second.stop();
  assert.equal(fails, 1);
});

test("a failed start of the next piece is reported at the end of this one", () => {
  let fails = 0;
  const { Recorder, made } = recorderType({ begins: 1 });
  const recorder = new SoundRecorder(null, () => 0, taker, Recorder, () => fails++);
  for (let n = 1; n < PIECE_SLICES; n++) made[0].data();
  assert.deepEqual([made.length, fails], [2, 0]);
  made[0].data();
  assert.equal(fails, 1);
  void recorder.stop();
  assert.throws(() => new SoundRecorder(null, () => 0, taker, recorderType({ begins: 0 }).Recorder, () => {}));
});
