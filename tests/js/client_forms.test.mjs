// The lines that the forms of clients make.
import assert from "node:assert/strict";
import test from "node:test";
import { fieldsOf, lineOf } from "../../static/lab/core/actions/client_forms.js";
import { EMPTY_VIEW } from "../../static/lab/core/view/empty.gen.js";

const view = (era) => ({ run: { era }, assignors: {} });
const proposed = (kind, era, more) => {
  const fields = fieldsOf(kind, view(era));
  return lineOf(kind, fields, { ...Object.fromEntries(fields.map(({ name, value }) => [name, value])), client: "x1", ...more });
};

test("a form can be opened before the first snapshot arrives", () => {
  assert.ok(fieldsOf("member", EMPTY_VIEW).length > 0);
  assert.ok(fieldsOf("producer", EMPTY_VIEW).length > 0);
});

test("a default of the era needs no option", () => {
  assert.equal(proposed("producer", "3.9", {}), "producer open x1");
  assert.equal(proposed("producer", "0.10", {}), "producer open x1");
  assert.equal(proposed("producer", "0.10", { acks: "all", "linger.ms": "500" }), "producer open x1 --acks all --linger 500");
});

test("a member sees Kafka's default where that of the console differs", () => {
  const usual = "--reset latest --auto-commit-interval-ms 5000 --session-timeout-ms 45000 --heartbeat-interval-ms 3000";
  assert.equal(proposed("member", "3.9", { topics: "orders" }), `consumer start x1 --group g1 --topic orders ${usual}`);
  assert.match(proposed("member", "3.9", { topics: "orders", "auto.offset.reset": "earliest" }), /--topic orders --auto-commit/);
});

test("in era 0.8 a member has a session with ZooKeeper, and neither heartbeats nor polls", () => {
  assert.equal(proposed("member", "0.8", { topics: "orders" }), "consumer start x1 --group g1 --topic orders --reset latest --auto-commit-interval-ms 60000");
});

test("before 3.0 the default assignor is range, and the default session timeout is shorter", () => {
  assert.match(proposed("member", "2.4", { topics: "orders" }), /--assignor range .*--session-timeout-ms 10000/);
});

test("a word with a blank is quoted", () => {
  assert.equal(proposed("producer", "3.9", { "transactional.id": "it's mine" }), "producer open x1 --transactional-id 'it'\\''s mine'");
});
