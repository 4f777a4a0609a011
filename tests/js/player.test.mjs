import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Player, Refusal } from "../../static/lab/core/player/player.js";
import { END, at, clockOf, events, fakeFetch, fakeSockets, index, live, recorded, segments, settle, viewAt } from "./recording.mjs";

const time = (socket) => socket.sent.filter(({ k }) => k === "time").map(({ op }) => op);

// --- at the head -------------------------------------------------------------------------------------------------

test("hello contains the page's last event, and the snapshot is shown", async () => {
  const { player, socket } = await live(500);
  assert.equal(socket.url, "ws://lab/ws/runs/r/main/");
  assert.equal(socket.sent[0].have, 0);
  assert.equal(player.seq, 500);
  assert.equal(player.isPast, false);
  assert.equal(player.connection, "open");
  assert.deepEqual(player.view, viewAt(500));
});

test("events are applied in the next frame, and acknowledged when painted", async () => {
  const { player, socket, changes } = await live(500);
  socket.deltas(501, 520);
  assert.equal(player.seq, 500);
  changes.length = 0;
  player.tick();
  assert.equal(player.seq, 520);
  assert.equal(player.at_us, at(520));
  assert.deepEqual(player.view, viewAt(520));
  assert.deepEqual(player.lastEvents.map(({ seq }) => seq), events.slice(500, 520).map(([seq]) => seq));
  assert.ok(changes.some(({ what, touched }) => what.has("view") && touched.size > 0));
  assert.equal(socket.last("ack"), undefined);
  player.painted();
  assert.equal(socket.last("ack").seq, 520);
  assert.equal(player.latencies.length, 1);
});

test("a page acknowledges at most every 50 ms, and then all that is painted", async (t) => {
  const { player, socket } = await live(500);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const paint = (from, to) => {
    socket.deltas(from, to);
    player.tick();
    player.painted();
  };
  const acks = () => socket.sent.filter(({ k }) => k === "ack").map(({ seq }) => seq);
  paint(501, 505);
  paint(506, 510);
  paint(511, 520);
  assert.deepEqual(acks(), [505]);
  t.mock.timers.tick(49);
  assert.deepEqual(acks(), [505]);
  t.mock.timers.tick(1);
  assert.deepEqual(acks(), [505, 520]);
  t.mock.timers.tick(50);
  paint(521, 530);
  assert.deepEqual(acks(), [505, 520, 530]);
  // The server counts a snapshot as sent although the page had the same event before.
  socket.snap(530);
  player.tick();
  player.painted();
  t.mock.timers.tick(50);
  assert.deepEqual(acks(), [505, 520, 530, 530]);
});

test("a frame stops at its budget and the next continues; a backlog is applied at once", async () => {
  let ms = 0;
  const { player, socket } = await live(100, { now: () => (ms += 1) });
  socket.deltas(101, 400);
  assert.equal(player.tick(4), true);
  assert.ok(player.seq > 100 && player.seq < 400, `${player.seq}`);
  player.painted();
  assert.equal(socket.last("ack"), undefined);
  while (player.tick(4) && player.seq < 400);
  assert.deepEqual(player.view, viewAt(400));
});

test("the server's clock is extrapolated up to its horizon", async () => {
  const { player, socket, clock } = await live(500);
  socket.say({ ...clockOf(500, "play", 0.5), at_us: at(500) + 100 });
  assert.equal(player.tick(), true);
  clock.ms += 10;
  player.tick();
  assert.equal(player.at_us, at(500) + 100 + 5_000);
  assert.equal(player.mode, "play");
  clock.ms += 10_000;
  assert.equal(player.tick(), false, "at the horizon it waits for the next clock");
  assert.equal(player.at_us, at(500) + 50_000);
});

test("after a gap the player requests events after its last one", async () => {
  const { player, socket, sockets } = await live(500);
  socket.deltas(501, 510);
  socket.deltas(515, 520);
  assert.equal(sockets.length, 2);
  sockets[1].open();
  assert.equal(sockets[1].sent[0].have, 510);
  assert.equal(sockets[1].sent[0].boot, "b1");
  sockets[1].deltas(505, 520);
  player.tick();
  assert.deepEqual(player.view, viewAt(520));
});

test("after a patch that does not fit the player requests a snapshot", async () => {
  const { player, socket, sockets } = await live(500);
  const [seq, when, node, cause, body] = events[500];
  socket.say({ k: "d", ev: [[seq, when, node, cause, body, [["/replicas/none/x", 1]]]], sent_ms: Date.now() });
  player.tick();
  assert.equal(sockets.length, 2);
  sockets[1].open();
  assert.equal(sockets[1].sent[0].have, 0);
  sockets[1].snap(600);
  player.tick();
  assert.deepEqual(player.view, viewAt(600));
});

test("each time control sends a request to the server", async () => {
  const { player, socket } = await live(500);
  player.play();
  player.setRate(0.5);
  player.stepEvent(1);
  player.stepRpc();
  player.eventPaced();
  player.pause();
  assert.deepEqual(time(socket), ["play", "rate", "step_event", "step_rpc", "event_paced", "pause"]);
  assert.equal(socket.sent.find(({ op }) => op === "rate").value, 0.5);
});

test("a line is sent and its answer comes back; a refusal says what to do", async () => {
  const { player, socket } = await live(500);
  const first = player.do("broker kill 1");
  assert.equal(socket.last("do").line, "broker kill 1");
  socket.done({ seq: 501, command: 7 });
  assert.equal((await first).command, 7);
  const second = player.do("broker kil 1");
  socket.say({ k: "no", id: socket.last("do").id, what: "There is no kil.", expected: "kill", todo: "Type help." });
  await assert.rejects(second, (refusal) => refusal instanceof Refusal && refusal.todo === "Type help.");
});

test("subscribers are notified of a refused control of time", async () => {
  const { player, socket, changes } = await live(500);
  player.play();
  socket.say({ k: "no", id: socket.last("time").id, what: "You only watch.", expected: "", todo: "" });
  await settle();
  assert.equal(player.refusal.what, "You only watch.");
  assert.ok(changes.some(({ what }) => what.has("refused")));
});

test("a page that an updated server does not understand has to be loaded again", async () => {
  const { sockets, FakeSocket } = fakeSockets();
  const player = new Player({ url: "http://lab", run: "r", branch: "main", WebSocket: FakeSocket, fetch: fakeFetch() });
  sockets[0].onclose({ code: 4400, reason: "The lab was updated." });
  assert.equal(player.outdated, true);
});

test("the player reconnects by itself and resumes, but not after a final refusal", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { player, socket, sockets } = await live(500);
    const waiting = player.do("zk ls /");
    socket.lose();
    await assert.rejects(waiting, { code: "lost" });
    assert.equal(player.connection, "lost");
    assert.ok(player.retry_in_s <= 0.5);
    await assert.rejects(player.do("zk ls /"), { code: "lost" });
    assert.equal(player.seq, 500, "the last picture stays");
    mock.timers.tick(500);
    sockets[1].open();
    assert.equal(sockets[1].sent[0].have, 500);
    assert.equal(player.connection, "open");
    sockets[1].lose(4401, "sign in first");
    mock.timers.tick(20_000);
    assert.equal(sockets.length, 2);
    assert.deepEqual(player.closed, { code: 4401, reason: "sign in first" });
  } finally {
    mock.timers.reset();
  }
});

// --- between head and past ---------------------------------------------------------------------------------------

test("stepping back seeks the past, and pauses the live core", async () => {
  const { player, socket, fetch } = await live(500);
  socket.deltas(501, 520);
  socket.say(clockOf(520, "play"));
  player.tick();
  const asked = fetch.asked.length;
  player.stepEvent(-1);
  assert.equal(player.isPast, true);
  assert.equal(player.seq, 519);
  assert.equal(player.at_us, at(519));
  assert.deepEqual(player.view, viewAt(519));
  assert.equal(player.mode, "pause");
  assert.deepEqual(time(socket), ["pause"]);
  assert.equal(fetch.asked.length, asked, "the inverse patches lead back without the server");
  player.stepEvent(1);
  assert.equal(player.isPast, false);
  assert.deepEqual(player.view, viewAt(520));
});

test("playing in the past continues in the lab at the end of the history", async () => {
  const { player, socket, clock } = await live(500);
  player.seekSeq(498);
  await settle();
  player.play();
  player.setRate(1);
  for (let frame = 0; frame < 5000 && player.isPast; frame++) {
    clock.ms += 100;
    player.tick();
    await settle();
  }
  assert.equal(player.isPast, false);
  assert.deepEqual(player.view, viewAt(500));
  assert.deepEqual(time(socket), ["play"]);
});

test("a viewer who only watches does not pause the lab", async () => {
  const { sockets, FakeSocket } = fakeSockets();
  const player = new Player({ url: "http://lab", run: "r", branch: "main", WebSocket: FakeSocket, fetch: fakeFetch() });
  sockets[0].open({ rights: ["see"] });
  sockets[0].snap(500);
  sockets[0].say(clockOf(500, "play"));
  player.seekSeq(490);
  assert.equal(player.isPast, true);
  assert.deepEqual(time(sockets[0]), []);
});

test("for an instant before the window of live events the segment is fetched", async () => {
  const { player, fetch } = await live(END - 10);
  player.seekSeq(50);
  await settle();
  assert.equal(player.seq, 50);
  assert.deepEqual(player.view, viewAt(50));
  assert.ok(fetch.asked.includes("/api/runs/r/main/segments/0.json"));
  player.goLive();
  await settle();
  assert.equal(player.isPast, false);
  assert.equal(player.seq, END - 10);
  assert.deepEqual(player.view, viewAt(END - 10));
});

test("live events arrive while the past is shown, and are applied on return", async () => {
  const { player, socket } = await live(500);
  player.seekSeq(450);
  await settle();
  socket.deltas(501, 540);
  player.tick();
  player.painted();
  assert.equal(player.seq, 450);
  assert.equal(player.live_seq, 540);
  assert.equal(socket.last("ack").seq, 540, "they are acknowledged though they are not shown");
  player.goLive();
  player.tick();
  assert.deepEqual(player.view, viewAt(540));
});

test("acting in the past is refused with an alternative; forking requests a branch at the shown event", async () => {
  const { player, fetch } = await live(500, { csrf: "token" });
  player.seekSeq(450);
  await settle();
  await assert.rejects(player.do("broker kill 1"), { code: "past" });
  const fork = await player.fork("broker kill 1");
  assert.equal(fork.branch, "main-2");
  assert.ok(fetch.asked.some((one) => one.startsWith("POST /api/runs/r/main/fork") && one.includes('"seq":450') && one.includes("broker kill 1")));
});

test("a page opened at an instant shows the past, though the lab is live", async () => {
  const { player } = await live(END, { at: at(300) });
  await settle();
  assert.equal(player.isPast, true);
  assert.equal(player.at_us, at(300));
  assert.deepEqual(player.view, viewAt(events.findLast((event) => event[1] <= at(300))[0]));
});

// --- the recording -----------------------------------------------------------------------------------------------

test("any instant shows the last event at or before it", async () => {
  const { player } = await recorded({ at: 0 });
  for (const seq of [1, 7, 399, 400, 401, 800, END]) {
    const between = Math.min(at(seq) + 3, events[seq]?.[1] ?? Infinity);
    player.seekTime(between);
    await settle();
    const expected = events.findLast((event) => event[1] <= player.at_us)[0];
    assert.equal(player.seq, expected, `at ${between}`);
    assert.deepEqual(player.view, viewAt(expected));
  }
});

test("each event of one instant has its own state by number", async () => {
  const { player } = await recorded({ seq: 2 });
  assert.equal(at(1), at(2));
  assert.equal(player.seq, 2);
  player.stepEvent(-1);
  assert.equal(player.seq, 1);
  assert.deepEqual(player.view, viewAt(1));
});

test("all segments of a span of time are fetched, the newest first", async () => {
  const { player, fetch } = await recorded({ seq: END });
  await settle();
  for (let i = 0; i < segments.length + 2; i++) {
    player.want(0, Infinity);
    await settle();
  }
  const order = fetch.asked.map((path) => Number(/segments\/(\d+)/.exec(path)?.[1] ?? NaN)).filter((n) => !Number.isNaN(n));
  assert.deepEqual(order, segments.map((_, n) => n).reverse());
  assert.deepEqual(player.chunks().map(({ first_seq }) => first_seq), segments.map(({ first_seq }) => first_seq));
});

test("an event far from what is loaded is fetched by its number", async () => {
  const { player } = await recorded({ seq: END });
  await settle();
  assert.equal(player.event(3), null);
  player.wantEvent(3);
  await settle();
  assert.equal(player.event(3)?.seq, 3);
  assert.equal(player.seq, END, "the shown instant stays");
});

test("while a segment is fetched the newest target wins", async () => {
  const { player } = await recorded({ seq: 10 });
  player.seekSeq(450);
  player.seekSeq(700);
  player.seekSeq(460);
  await settle();
  assert.equal(player.seq, 460);
  assert.deepEqual(player.view, viewAt(460));
});

test("steps during a fetch are counted from its target", async () => {
  const { player } = await recorded({ seq: 10 });
  player.seekTime(at(450));
  assert.equal(player.goal_us, at(450));
  assert.equal(player.at_us, at(10));
  const there = events.findLast((event) => event[1] <= at(450))[0];
  player.stepEvent(-1);
  player.stepEvent(-1);
  player.stepEvent(1);
  await settle();
  assert.equal(player.seq, there - 1);
  assert.equal(player.goal_us, player.at_us);
  assert.deepEqual(player.view, viewAt(there - 1));
  player.seekSeq(700);
  await player.stepRpc();
  await settle();
  assert.equal(player.seq, events.find((event) => event[0] > 700 && event[4][0] === "RpcDelivered")[0]);
});

test("steps during a fetch do not lead beyond the ends", async () => {
  const { player } = await recorded({ seq: 450 });
  player.seekSeq(2);
  for (let i = 0; i < 5; i++) player.stepEvent(-1);
  await settle();
  assert.equal(player.seq, 1);
  const { player: other } = await live(END);
  other.seekSeq(450);
  for (let i = 0; i < END; i++) other.stepEvent(1);
  await settle();
  assert.equal(other.isPast, false, "the newest event is the head");
  assert.deepEqual(other.view, viewAt(END));
});

test("stepping by message stops at deliveries", async () => {
  const { player } = await recorded({ seq: 390 });
  for (let i = 0; i < 5; i++) {
    const before = player.seq;
    await player.stepRpc();
    await settle();
    const next = events.find((event) => event[0] > before && event[4][0] === "RpcDelivered");
    assert.equal(player.seq, next[0]);
    assert.deepEqual(player.view, viewAt(next[0]));
  }
});

test("the last events include the previous values", async () => {
  const { player } = await recorded({ seq: 100 });
  const seq = events.find((event) => event[0] > 100 && event[4][0] === "HighWatermarkAdvanced")[0];
  player.seekSeq(seq);
  await settle();
  const event = player.lastEvents.at(-1);
  assert.equal(event.seq, seq);
  const [pointer, value] = event.previous.find(([path]) => path.endsWith("/high_watermark"));
  assert.equal(value, event.data.from_offset);
  assert.deepEqual(event.patch.find(([path]) => path === pointer), [pointer, event.data.to_offset]);
});

test("playing the recording moves at the chosen speed and ends at its end", async () => {
  const { player, clock } = await recorded({ at: at(300) });
  player.setRate(0.5);
  player.play();
  player.tick();
  clock.ms += 100;
  player.tick();
  await settle();
  assert.equal(player.at_us, at(300) + 50_000);
  assert.equal(player.mode, "play");
  player.setRate(100);
  for (let i = 0; i < 200 && player.mode !== "pause"; i++) {
    clock.ms += 100;
    player.tick();
    await settle();
  }
  assert.equal(player.seq, END);
  assert.deepEqual(player.view, viewAt(END));
});

test("paced by events, a delivery takes the same time at any speed", async () => {
  const first = events.find((event, i) => event[4][0] === "RpcSent" && events[i + 1]?.[1] > event[1]);
  const { player, clock } = await recorded({ seq: first[0] });
  player.setRate(100);
  player.eventPaced();
  player.tick();
  const due = events.find((event) => event[1] > first[1] && ["RpcDelivered", "RpcDropped"].includes(event[4][0]))[1];
  clock.ms += 230;
  player.tick();
  assert.ok(player.at_us > first[1] && player.at_us < due, `${player.at_us} lies between ${first[1]} and ${due}`);
  for (let i = 0; i < 20; i++) {
    clock.ms += 30;
    player.tick();
  }
  assert.ok(player.at_us >= due, `${player.at_us} has reached ${due}`);
});

test("with reduced motion, running time is shown in steps of a second, and requested instants at once", async () => {
  let calm = true;
  const { player, socket, clock, changes } = await live(500, { calm: () => calm });
  socket.say(clockOf(500, "play"));
  player.tick();
  const shown = () => changes.filter(({ what }) => what.has("view") || what.has("time")).length;
  const before = shown();
  socket.deltas(501, 510);
  for (let i = 0; i < 20; i++) {
    clock.ms += 45;
    player.tick();
    player.painted();
  }
  assert.equal(shown(), before, "0.9 s later nothing has moved");
  assert.equal(socket.last("ack").seq, 510, "the server need not wait");
  clock.ms += 150;
  player.tick();
  assert.equal(shown(), before + 1);
  assert.ok(changes.at(-1).touched.size > 0, "the jump says all that has changed");
  socket.deltas(511, 520);
  player.tick();
  assert.equal(shown(), before + 1);
  socket.say(clockOf(520, "pause"));
  assert.equal(player.mode, "pause");
  player.tick();
  assert.ok(shown() > before + 1, "a pause shows where it came to stand");
  calm = false;
});

test("with reduced motion, pacing by events moves from event to event", async () => {
  const first = events.find((event, i) => event[4][0] === "RpcSent" && events[i + 1]?.[1] > event[1]);
  const { player, clock } = await recorded({ seq: first[0], calm: () => true });
  player.eventPaced();
  const shown = [];
  player.subscribe(({ what }) => (what.has("view") || what.has("time")) && shown.push(player.seq));
  for (let i = 0; i < 200; i++) {
    clock.ms += 30;
    player.tick();
    await settle();
  }
  assert.ok(shown.length >= 5, `${shown.length} jumps in 6 s`);
  assert.deepEqual(shown, [...new Set(shown)], "each shows another event");
});

test("an instant that does not exist is refused, and the view is unchanged", async () => {
  const { player } = await recorded({ seq: 10 });
  const missing = index.last_seq + 5000;
  const { player: opened } = await recorded({ seq: missing });
  await settle();
  assert.equal(opened.view, null);
  assert.equal(opened.refusal.code, "no-instant");
  player.seekSeq(missing);
  await settle();
  assert.equal(player.seq, END, "beyond the end means the end");
});

test("a failed fetch of history is reported with the server's message", async () => {
  const fetch = async () => ({ ok: false, status: 404, json: async () => ({ what: "There is no such run." }) });
  const player = new Player({ url: "http://lab", run: "r", branch: "x", WebSocket: null, fetch, seq: 4 });
  await settle();
  assert.equal(player.refusal.what, "There is no such run.");
  assert.equal(player.view, null);
});
