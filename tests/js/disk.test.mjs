import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldAt, fieldsOf, framesOf, hueOf, lossOf, namePieces, rangeAt, slotsShown } from "../../static/lab/core/bytes/disk.js";

const parts = [
  { kind: "batch", position: 100, size: 12, fields: [{ name: "baseOffset", position: 100, length: 8 }, { name: "batchLength", position: 108, length: 4 }] },
  { kind: "torn", position: 112, size: 5, fields: [{ name: "torn", position: 112, length: 5 }] },
];

test("each byte of a page has its field, and no other byte has one", () => {
  const fields = fieldsOf(parts);
  assert.deepEqual(fields.map(({ part }) => part), [0, 0, 1]);
  for (let at = 90; at < 130; at++) {
    const expected = fields.findIndex(({ position, length }) => at >= position && at < position + length);
    assert.equal(fieldAt(fields, at), expected, `byte ${at}`);
  }
  assert.equal(fieldAt([], 5), -1);
});

test("fields with the same meaning have the same hue, others have none", () => {
  assert.equal(hueOf("baseOffset"), hueOf("offsetDelta"));
  assert.equal(hueOf("magic"), "plain");
});

test("a file's name is split into zeros, digits and the rest", () => {
  const names = ["00000000000000000024.log", "00000000000000000000.index", "00000000000000001200.timeindex.deleted", "meta.properties", "leader-epoch-checkpoint"];
  for (const name of names) assert.equal(namePieces(name).join(""), name);
  assert.deepEqual(namePieces(names[0]).slice(1), ["24", ".log"]);
  assert.deepEqual(namePieces(names[1]).slice(1), ["0", ".index"]);
  assert.deepEqual(namePieces(names[3]), ["", "", "meta.properties"]);
});

test("a power loss removes the bytes of each file that were not fsynced", () => {
  const loss = lossOf([
    { name: "", files: [{ bytes: 58, flushed: 58 }] },
    { name: "orders-0", safe_offset: 36, log_end_offset: 44, files: [{ bytes: 1802, flushed: 1774 }, { bytes: 16, flushed: 8 }] },
    { name: "orders-1", safe_offset: 9, log_end_offset: 9, files: [{ bytes: 500, flushed: 500 }] },
  ]);
  assert.equal(loss.bytes, 36);
  assert.equal(loss.files.length, 2);
  assert.deepEqual(loss.records, [{ folder: "orders-0", from: 36, to: 44 }]);
});

const probe = (low, high, slot, order, next_low, next_high) => ({ low, high, slot, key: slot * 100, value: 0, order, next_low, next_high });
const search = { file: "index", entries: 15, warm_from: 0, in_warm: true, slot: 10, key: 2487, value: 49111,
  probes: [probe(0, 14, 7, -1, 7, 14), probe(7, 14, 11, 1, 7, 10), probe(7, 10, 9, -1, 9, 10), probe(9, 10, 10, -1, 10, 10)] };
const batch = (base_offset, is_it) => ({ position: base_offset, size: 400, base_offset, last_offset: base_offset + 19, max_timestamp: 1, is_it });

test("a lookup is shown as its segment, each probe of the index, each batch, and the result", () => {
  const found = { offset: 2490, timestamp: -1, segments: [0, 3600], floor: 0, time_search: null, search, scanned: [batch(2464, false), batch(2488, true)],
    found: 2490, found_timestamp: 1, skipped: 2, cut_short: false };
  const frames = framesOf(found);
  assert.deepEqual(frames.map(({ step }) => step), ["segment", "index", "index", "index", "index", "index", "scan", "scan", "found"]);
  assert.equal(framesOf({ ...found, search: null, scanned: [], floor: -1 }).length, 2);
  assert.equal(framesOf({ ...found, time_search: search }).filter(({ step }) => step === "time").length, 5);
});

test("each probe narrows the range, down to the slot that is found", () => {
  const ranges = [0, 1, 2, 3, 4].map((at) => rangeAt(search, at));
  for (let at = 1; at < ranges.length; at++) {
    assert.ok(ranges[at][0] >= ranges[at - 1][0] && ranges[at][1] <= ranges[at - 1][1]);
    assert.ok(ranges[at][1] - ranges[at][0] < ranges[at - 1][1] - ranges[at - 1][0]);
  }
  assert.deepEqual(ranges.at(-1), [10, 10]);
});

test("of a large index the probed slots and those around the result are drawn", () => {
  assert.equal(slotsShown(search, 48).length, 15);
  const large = { ...search, entries: 100_000, slot: 70_000, probes: [probe(0, 99_999, 50_000, -1, 50_000, 99_999)] };
  const shown = slotsShown(large, 48);
  assert.equal(shown.length, 48);
  for (const slot of [0, 50_000, 70_000, 99_999]) assert.ok(shown.includes(slot), `slot ${slot}`);
  assert.deepEqual(shown, [...shown].sort((a, b) => a - b));
  assert.deepEqual(slotsShown({ ...search, entries: 0, slot: -1, probes: [] }, 48), []);
});
