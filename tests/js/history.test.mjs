import assert from "node:assert/strict";
import { test } from "node:test";

import { requestsLabel, History, isZooKeeperRequest } from "../../static/lab/core/recording/history.js";
import { events, segments, viewAt } from "./recording.mjs";

const chunks = () => segments.map(({ first_seq, state, at_us, ev }) => ({ first_seq, base: { at_us, state }, events: ev, inverses: [], full: true }));

/** Sequence numbers after which time moves on: only there an instant has one state. */
const instants = events.filter((event, i) => events[i + 1]?.[1] > event[1]).map(([seq, at_us]) => ({ seq, at_us }));

test("at any instant the messages in flight are those of the view", () => {
  const history = new History(chunks);
  let seen = 0;
  for (let i = 0; i < instants.length; i += 7) {
    const { seq, at_us } = instants[i];
    const view = viewAt(seq);
    const open = history.messages(at_us, at_us).filter((span) => span.sent_us <= at_us && span.end_us > at_us);
    assert.deepEqual(open.map(({ id }) => id).sort(), Object.keys(view.rpcs).sort(), `after event ${seq}`);
    for (const span of open) assert.equal(span.label, view.rpcs[span.id].label);
    seen += open.length;
  }
  assert.ok(seen > 20, "nothing was ever under way");
});

test("of the instant that is shown only what has happened up to the event is there", () => {
  let last_seq = 0;
  const history = new History(chunks, () => last_seq);
  const all = new History(chunks).deeds(0, Infinity);
  let open = 0, later = 0;
  // Events of which another one of the same instant follows.
  const within = events.filter(([, at_us], i) => events[i + 1]?.[1] === at_us);
  for (let i = 0; i < within.length; i += 7) {
    const at_us = within[i][1];
    last_seq = within[i][0];
    const shown = history.messages(at_us, at_us).filter((span) => !(span.end_us <= at_us));
    const { rpcs } = viewAt(last_seq);
    assert.deepEqual(shown.map(({ id }) => id).sort(), Object.keys(rpcs).sort(), `after event ${last_seq}`);
    for (const { id, held_us } of shown) assert.equal(held_us <= at_us, Boolean(rpcs[id].held), id);
    assert.ok(history.deeds(at_us, at_us).every(({ seq }) => seq <= last_seq));
    open += shown.length;
    later += all.filter((one) => one.at_us === at_us && one.seq > last_seq).length;
  }
  assert.ok(open > 20 && later > 5, "nothing happened at one instant");
});

test("at any instant the waiting requests are those of the view", () => {
  const history = new History(chunks);
  let seen = 0;
  for (let i = 0; i < instants.length; i += 7) {
    const { seq, at_us } = instants[i];
    const open = history.waits(at_us, at_us).filter((wait) => wait.since_us <= at_us && wait.end_us > at_us);
    assert.deepEqual(open.map(({ id }) => id).sort(), Object.keys(viewAt(seq).parked).sort(), `after event ${seq}`);
    seen += open.length;
  }
  assert.ok(seen > 20, "nothing ever waited");
});

test("a window of live events that drops its oldest ones still has the others", () => {
  const live = { first_seq: 1, base: { at_us: 0, state: segments[0].state }, events: events.slice(0, 600), inverses: [], full: false };
  const history = new History(() => [live]);
  history.messages(0, Infinity);
  live.events.splice(0, 300);
  live.first_seq += 300;
  live.base = null;
  live.events.push(...events.slice(600, 900));
  const from = live.events[0][1];
  const sent = live.events.filter(([, , , , [kind]]) => kind === "RpcSent").map((event) => event[4][1]);
  const told = new Set(history.messages(from, Infinity).map(({ id }) => id));
  for (const id of sent) assert.ok(told.has(id), id);
});

test("events that the window dropped before the first read are left out", () => {
  const live = { first_seq: 1, base: { at_us: 0, state: segments[0].state }, events: events.slice(0, 100), inverses: [], full: false };
  const history = new History(() => [live]);
  history.messages(0, Infinity);
  live.events = events.slice(400, 900);
  live.first_seq = 401;
  live.base = null;
  const told = history.messages(0, Infinity);
  const sent = live.events.filter(([, , , , [kind]]) => kind === "RpcSent").map((event) => event[4][1]);
  assert.deepEqual(told.map(({ id }) => id).sort(), sent.sort());
});

test("actions have the values of their marks", () => {
  const history = new History(chunks);
  const deeds = history.deeds(0, Infinity);
  assert.ok(deeds.some(({ kind, values }) => kind === "BatchAppended" && values.partition === "orders-0"));
  assert.ok(deeds.some(({ kind }) => kind === "BrokerStopped"));
  assert.deepEqual(deeds.map(({ seq }) => seq), deeds.map(({ seq }) => seq).sort((a, b) => a - b));
});

test("missing events are reported, and nothing continues through the gap", () => {
  const holed = [chunks()[0], ...chunks().slice(2)];
  const history = new History(() => holed);
  const [from, to] = [holed[0].events.at(-1)[1], holed[1].base.at_us];
  assert.ok(to > from);
  assert.deepEqual(history.gaps(0, Infinity), [[from, to]]);
  assert.deepEqual(new History(chunks).gaps(0, Infinity), []);
  const through = history.waits(0, Infinity).filter((wait) => wait.since_us < from && wait.end_us > to && !(wait.id in holed[1].base.state.parked));
  assert.deepEqual(through, []);
});

test("messages that have not ended are listed, however long ago they began", () => {
  const chunk = { first_seq: 1, base: null, inverses: [], events: [
    [1, 0, "b1", 0, ["RequestParked", "b1", "r1", "JoinGroup", "m1", [], "members", 90_000_000], []],
    [2, 0, "m1", 0, ["RpcSent", "r2", "Fetch", "request", "m1", "b1", 1_000, 2, "Fetch", []], []],
    [3, 1_000, "b1", 0, ["RpcHeld", "r2", "the link is cut"], []],
    [4, 20_000_000, "b1", 0, ["CommandReceived", 1, "hw", "console"], []],
  ] };
  const history = new History(() => [chunk]);
  assert.deepEqual(history.waits(10_000_000, 20_000_000).map(({ id }) => id), ["r1"]);
  assert.deepEqual(history.messages(10_000_000, 20_000_000).map(({ id }) => id), ["r2"]);
});

test("requests to ZooKeeper are messages on request, and take no time", () => {
  const asked = [1, 700, "b1", 0, ["ZooKeeperAsked", "b1", 3, [["exists", "/controller", "ok"], ["getData", "/controller", "NoNode"]]]];
  const chunk = { first_seq: 1, base: { at_us: 0, state: segments[0].state }, events: [asked], inverses: [], full: true };
  const history = new History(() => [chunk]);
  const shown = () => history.messages(500, 1000).filter(isZooKeeperRequest);
  assert.deepEqual(shown(), []);
  history.zookeeper = true;
  const [{ source, destination, family, label, sent_us, end_us }] = shown();
  assert.deepEqual([source, destination, family, label], ["b1", "zk", "zk", "exists /controller +2"]);
  assert.deepEqual([sent_us, end_us], [700, 700]);
  assert.equal(requestsLabel(1, [["getData", "/controller", "NoNode"]]), "getData /controller NoNode");
});
