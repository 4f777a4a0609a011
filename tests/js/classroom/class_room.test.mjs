// A page's end of a class: sections, gaps, acts that are sent again, the class's clock.
import assert from "node:assert/strict";
import test, { mock } from "node:test";
import { CLASS_SCHEMA } from "../../../static/lab/core/events/class_events.gen.js";
import { ClassClock } from "../../../static/lab/core/classroom/class_time.js";
import { ClassRoom } from "../../../static/lab/core/classroom/class_room.js";

class FakeSocket {
  static made = [];
  readyState = 1;
  sent = [];

  constructor(url) {
    this.url = url;
    FakeSocket.made.push(this);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.readyState = 3;
  }

  receive(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }

  acts() {
    return this.sent.filter(({ k }) => k === "act");
  }
}

const WELCOME = { k: "welcome", title: "Logs", boot: "b1", class_us: 5_000_000, you: { p: "p3", role: "learner", name: "Calm Otter" } };

/** A room that is connected, its newest socket, and what changed. */
function opened(t) {
  FakeSocket.made = [];
  const changes = [];
  let now_ms = 1000;
  const room = new ClassRoom("ws://class", "lab", {
    changed: (what) => changes.push(what), isHidden: () => false, now_ms: () => now_ms, WebSocketClass: FakeSocket,
  });
  t.after(() => room.close());
  const socket = FakeSocket.made[0];
  socket.onopen();
  socket.receive(WELCOME);
  return { room, socket, changes, pass: (ms) => (now_ms += ms) };
}

test("the first frame contains the page's address and its last event", (t) => {
  const { socket } = opened(t);
  assert.deepEqual(socket.sent[0], { k: "hello", v: 1, schema: CLASS_SCHEMA, have: 0, boot: "", place: "lab" });
});

test("sections are applied and acknowledged", (t) => {
  const { room, socket, changes } = opened(t);
  socket.receive({ k: "snap", upto: 7, patch: [["/people", {}], ["/pace", 0], ["/people/p3", { name: "Calm Otter" }]] });
  socket.receive({ k: "e", after: 7, upto: 9, ev: [], patch: [["/pace", 4], ["/people/p3"]] });
  assert.deepEqual(room.tree, { people: {}, pace: 4 });
  assert.deepEqual(socket.sent.filter(({ k }) => k === "ack"), [{ k: "ack", upto: 7 }, { k: "ack", upto: 9 }]);
  assert.equal(changes.filter((what) => what === "tree").length, 2);
});

test("after a gap the page reconnects and sends its last event", (t) => {
  const { room, socket } = opened(t);
  socket.receive({ k: "snap", upto: 7, patch: [["/pace", 1]] });
  socket.receive({ k: "e", after: 8, upto: 9, ev: [], patch: [["/pace", 2]] });
  assert.equal(room.tree.pace, 1);
  const next = FakeSocket.made[1];
  next.onopen();
  assert.deepEqual([next.sent[0].have, next.sent[0].boot], [7, "b1"]);
});

test("a wall that scrolls sends what is in sight at most five times per second", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const { room, socket } = opened(t);
  const before = socket.sent.length;
  for (let first = 0; first < 50; first++) {
    room.sees([`p${first}`, `p${first + 1}`]);
    mock.timers.tick(20);
  }
  mock.timers.tick(200);
  const sent = socket.sent.slice(before);
  assert.deepEqual([...new Set(sent.map(({ k }) => k))], ["here"]);
  assert.ok(sent.length <= 6, `${sent.length}`);
  assert.deepEqual(sent.at(-1).sight, ["p49", "p50"]);
  mock.timers.tick(1000);
  assert.equal(socket.sent.length, before + sent.length);
});

test("a page that has to wait has the server's reason until it is accepted", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  mock.method(Math, "random", () => 0);
  t.after(() => mock.restoreAll());
  const { room, socket } = opened(t);
  socket.onclose({ code: 4429, reason: "You have 12 pages of this class open." });
  assert.deepEqual([room.connection, room.why, room.closed], ["lost", "You have 12 pages of this class open.", ""]);
  mock.timers.tick(29_000);
  assert.equal(FakeSocket.made.length, 1);
  mock.timers.tick(1_000);
  assert.deepEqual([room.connection, room.why], ["connecting", "You have 12 pages of this class open."]);
  FakeSocket.made[1].onopen();
  FakeSocket.made[1].receive(WELCOME);
  assert.deepEqual([room.connection, room.why], ["open", ""]);
  FakeSocket.made[1].onclose({ code: 1006, reason: "" });
  assert.deepEqual([room.connection, room.why], ["lost", ""]);
});

test("an act whose answer was lost is sent again with its id, and executed once", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  mock.method(Math, "random", () => 0);
  const { room, socket } = opened(t);
  const done = room.act({ op: "raise_hand" });
  const [first] = socket.acts();
  socket.onclose({ code: 1006, reason: "" });
  await Promise.resolve();
  mock.timers.tick(0);
  const next = FakeSocket.made[1];
  next.onopen();
  next.receive(WELCOME);
  await Promise.resolve();
  mock.timers.tick(500);
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(next.acts(), [first]);
  next.receive({ k: "done", id: first.id, seq: 12 });
  assert.equal((await done).seq, 12);
});

test("a refusal is returned to the caller of the act", async (t) => {
  const { room, socket } = opened(t);
  const done = room.act({ op: "take_lead", lab: "k1/main" });
  socket.receive({ k: "no", id: socket.acts()[0].id, status: 403, what: "You may not do this.", expected: "", todo: "Ask the instructor." });
  await assert.rejects(done, { what: "You may not do this.", todo: "Ask the instructor." });
});

test("a pending vote is sent again after a reconnect, until it is written", async (t) => {
  const { room, socket } = opened(t);
  const kept = room.act({ op: "vote", poll: 1, answer: "0", sure: 60 });
  const [vote] = socket.acts();
  socket.receive({ k: "kept", id: vote.id });
  await kept;
  socket.receive(WELCOME);
  assert.deepEqual(socket.acts(), [vote, vote]);
  socket.receive({ k: "done", id: vote.id, seq: 20 });
  socket.receive(WELCOME);
  assert.equal(socket.acts().length, 2);
});

test("a page that an updated server does not understand has to be loaded again, and keeps what it shows", (t) => {
  const { room, socket } = opened(t);
  socket.receive({ k: "snap", upto: 7, patch: [["/pace", 1]] });
  socket.onclose({ code: 4400, reason: "The lab was updated." });
  assert.deepEqual([room.outdated, room.closed, room.tree], [true, "The lab was updated.", { pace: 1 }]);
  assert.equal(FakeSocket.made.length, 1);
});

test("tiles that no longer exist are removed", (t) => {
  const { room, socket } = opened(t);
  socket.receive({ k: "tiles", tiles: { p3: ["pause", 4, 100, "orders-0", []], p4: ["play", 9, 200, "", []] } });
  socket.receive({ k: "tiles", tiles: { p4: null } });
  assert.deepEqual(Object.keys(room.tiles), ["p3"]);
});

test("a replay tells what it shows, and staff know who catches up", (t) => {
  let shown_us = 7;
  FakeSocket.made = [];
  const room = new ClassRoom("ws://class", "replay", {
    changed() {}, isHidden: () => false, shown_us: () => shown_us, now_ms: () => 0, WebSocketClass: FakeSocket,
  });
  t.after(() => room.close());
  const [socket] = FakeSocket.made;
  socket.onopen();
  assert.equal(socket.sent[0].place, "replay");
  socket.receive(WELCOME);
  shown_us = 9;
  room.pageChanged();
  assert.deepEqual(socket.sent.filter(({ k }) => k === "here").map(({ at_us }) => at_us), [7, 9]);
  socket.receive({ k: "catching_up", people: { p3: 9 } });
  assert.deepEqual(room.catchingUp, { p3: 9 });
  socket.receive({ k: "catching_up", people: {} });
  assert.deepEqual(room.catchingUp, {});
});

test("the clock of a page that runs 200 ppm fast stays at class time for 90 minutes", () => {
  let passed_ms = 0;
  const clock = new ClassClock(() => 5_000 + passed_ms * 1.0002);
  clock.set(0);
  let worst_ms = 0;
  for (; passed_ms < 90 * 60_000; passed_ms += 15_000) {
    const sent = clock.sent_ms;
    // The answer takes longer than the question: half of the trip is not when the server answered.
    passed_ms += 30;
    const class_us = (passed_ms - 20) * 1000;
    clock.take(sent, class_us);
    worst_ms = Math.max(worst_ms, Math.abs(clock.us / 1000 - passed_ms));
  }
  assert.ok(worst_ms < 40, `${worst_ms} ms`);
});

test("the clock follows the shortest round trip", () => {
  let now_ms = 0;
  const clock = new ClassClock(() => now_ms);
  clock.set(10_000_000);
  assert.equal(clock.us, 10_000_000);
  now_ms = 1000;
  const sent = clock.sent_ms;
  now_ms = 1200; // 100 ms there, 100 ms back: the server answered at 1100
  clock.take(sent, 11_300_000);
  assert.equal(clock.us, 11_400_000);
  now_ms = 3000;
  clock.take(2000, 99_000_000); // a trip of a second says less
  assert.equal(clock.us, 13_200_000);
});
