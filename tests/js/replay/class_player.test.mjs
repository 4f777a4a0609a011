import assert from "node:assert/strict";
import { test } from "node:test";

import { ClassPlayer } from "../../../static/lab/core/replay/class_player.js";

const S = 1e6;
const manifest = { segments: [0, 10 * S], last_seq: 7 };
const segments = [
  { first_seq: 1, last_seq: 4, patch: [["/pace", 1], ["/people", {}]], events: [
    [1, 1 * S, "p1", "", ["LeadTaken"], [["/lead", { p: "p1", name: "Lin" }]]],
    [2, 2 * S, "p2", "", [], [["/people/p2", { name: "Ada", step: 1 }]]],
    [3, 3 * S, "p1", "", ["Pointed", "broker:b1", 500, 250, true], []],
    [4, 4 * S, "p1", "", ["InkDrawn"], [["/ink", { 1: { anchor: "broker:b1", points: [[0, 0], [9, 9]] } }]]],
  ] },
  { first_seq: 5, last_seq: 7, patch: [["/pace", 1], ["/people", { p2: { name: "Ada", step: 1 } }], ["/lead", { p: "p1", name: "Lin" }],
    ["/ink", { 1: { anchor: "broker:b1", points: [[0, 0], [9, 9]] } }]], events: [
    [5, 10 * S, "p1", "", ["InkCleared"], [["/ink"]]],
    [6, 11 * S, "p1", "", ["Pointed", "broker:b1", 0, 0, false], []],
    [7, 12 * S, "p2", "", [], [["/people/p2/step", 2]]],
  ] },
];

/** @param {string[]} [asked] */
function opened(asked = []) {
  const contents = { "manifest.json": manifest, "map.json": [], "segments/0.json": segments[0], "segments/1.json": segments[1] };
  return new ClassPlayer("/r/", async (address) => {
    asked.push(address);
    return { ok: true, json: async () => structuredClone(contents[address.slice(3)]) };
  });
}

test("an instant shows the class at that time, in any order of seeking", async () => {
  const player = opened();
  await player.open();
  const wanted = new Map([[0, [undefined, undefined, 0]], [1.5, ["Lin", undefined, 1]], [4, ["Lin", 1, 4]], [9, ["Lin", 1, 4]],
    [10, ["Lin", 1, 5]], [12, ["Lin", 2, 7]], [99, ["Lin", 2, 7]]]);
  const inks = new Map([[3, false], [4, true], [9.9, true], [10, false], [12, false]]);
  for (const at of [0, 12, 1.5, 9, 99, 4, 10, 0, 9, 1.5, 12]) {
    await player.load(at * S);
    player.show(at * S);
    assert.deepEqual([player.tree.lead?.name, player.tree.people?.p2?.step, player.seq], wanted.get(at), `at ${at} s`);
  }
  for (const [at, isThere] of [...inks, ...[...inks].reverse()]) {
    await player.load(at * S);
    player.show(at * S);
    assert.equal(Object.keys(player.tree.ink ?? {}).length > 0, isThere, `ink at ${at} s`);
  }
});

test("a segment is requested once, and missing ones are reported", async () => {
  /** @type {string[]} */
  const asked = [];
  const player = opened(asked);
  await player.open();
  assert.equal(player.show(2 * S), "missing");
  await Promise.all([player.load(2 * S), player.load(3 * S)]);
  assert.equal(player.show(2 * S), "changed");
  assert.equal(player.show(2.5 * S), "same");
  assert.deepEqual(asked.filter((address) => address.includes("segments/")), ["/r/segments/0.json"]);
});

test("the next segment is fetched before it is needed, and once", async () => {
  /** @type {string[]} */
  const asked = [];
  const player = opened(asked);
  await player.open();
  await player.load(2 * S);
  for (let n = 0; n < 3; n++) player.prefetch(11 * S);
  await player.load(11 * S);
  assert.equal(player.show(11 * S), "changed");
  assert.deepEqual(asked.filter((address) => address.includes("segments/")), ["/r/segments/0.json", "/r/segments/1.json"]);
});

test("a pointer is at its position, fades, and is removed", async () => {
  const player = opened();
  await player.open();
  await player.load(3 * S);
  await player.load(11 * S);
  assert.equal(player.pointer(2.9 * S), null);
  assert.deepEqual(player.pointer(3.5 * S), { who: "p1", anchor: "broker:b1", u: 500, v: 250 });
  assert.equal(player.pointer(5 * S), null);
  assert.equal(player.pointer(11.1 * S), null);
});
