// Every text that the drawings ask for exists in both languages, with the same placeholders.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { History } from "../../static/lab/core/recording/history.js";
import { menuFor } from "../../static/lab/core/actions/menu.js";
import { events, segments, viewAt } from "./recording.mjs";
import { texts } from "./texts.mjs";

const lab = new URL("../../static/lab/", import.meta.url).pathname;
const [en, zh] = ["en", "zh-CN"].map((name) => JSON.parse(readFileSync(join(lab, `i18n/${name}.json`), "utf-8")));
const sources = ["core", "draw"].flatMap((folder) => readdirSync(join(lab, folder), { recursive: true })
  .filter((name) => name.endsWith(".js")).map((name) => readFileSync(join(lab, folder, name), "utf-8")));
const places = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("the languages have the same texts", () => {
  const drawn = (texts) => Object.keys(texts).filter((key) => key.startsWith("draw.")).sort();
  assert.deepEqual(drawn(en), drawn(zh));
  for (const key of drawn(en)) assert.deepEqual(places(zh[key]), places(en[key]), key);
});

test("every key that the sources name exists", () => {
  const named = sources.flatMap((source) => [...source.matchAll(/"(draw\.[\w.]+)"/g)].map(([, key]) => key));
  assert.ok(named.length > 30);
  for (const key of named) assert.ok(key in en, key);
  for (const role of ["leader", "isr", "outisr", "offline"]) assert.ok(`draw.role.${role}` in en);
  for (const state of ["starting", "frozen", "down"]) assert.ok(`draw.broker.${state}` in en);
});

test("every text is used", () => {
  const all = sources.join("\n");
  const parts = [...all.matchAll(/`(draw\.[\w.]+)\$\{/g)].map(([, prefix]) => prefix);
  for (const key of Object.keys(en).filter((one) => one.startsWith("draw."))) {
    const base = key.replace(/\.one$/, "");
    assert.ok(all.includes(`"${base}"`) || parts.some((prefix) => base.startsWith(prefix)), key);
  }
});

test("actions of nodes have a text, and its placeholders are filled", () => {
  const chunks = segments.map(({ first_seq, state, at_us, ev }) => ({ first_seq, base: { at_us, state }, events: ev, inverses: [], full: true }));
  for (const { kind, values } of new History(() => chunks).deeds(0, Infinity)) {
    assert.ok(`draw.deed.${kind}` in en, kind);
    for (const place of places(en[`draw.deed.${kind}`])) assert.ok(place in values, `${kind}: ${place}`);
  }
});

test("every menu item has a text and a command", () => {
  const view = viewAt(events.length);
  const things = [...Object.keys(view.nodes).map((id) => ({ type: view.nodes[id].kind === "broker" ? "broker" : "client", id })),
    { type: "link", id: "b1|b2" }, { type: "link", id: "b1|zk" }, ...Object.keys(view.rpcs).map((id) => ({ type: "rpc", id })), { type: "partition", id: "orders-0" }, { type: "replica", id: "orders-0@b1" }, { type: "znode", id: "/brokers" }];
  for (const thing of things)
    for (const { key, values, line } of menuFor(view, thing)) {
      assert.ok(key in en, key);
      for (const place of places(en[key])) assert.ok(place in values, key);
      assert.match(line, /^(broker|link|session|disk|message|producer|consumer|log|hw|segments|zk) /);
    }
});

test("a printed line is rendered only where it is marked", () => {
  assert.equal(texts.zh.printed("* shell.log_clean_already?broker=2"), "broker 2：没有可清理的内容");
  assert.equal(texts.zh.printed("! shell.incomplete?line=x"), "命令不完整：x");
  for (const line of ["* a record", "shell.log_clean_already?broker=2", "Created topic orders."]) assert.equal(texts.zh.printed(line), line);
  assert.equal(texts.zh.printed("! Processed a total of 2 messages"), "Processed a total of 2 messages");
});

test("a text without a value for one of its places is a defect, a message stays a code", () => {
  assert.equal(texts.en.text("runs.brokers", { n: 3 }), "3 brokers");
  assert.throws(() => texts.en.text("runs.brokers"), /no text for runs\.brokers in en/);
  assert.equal(texts.en.render("reason.member_removed?member=c1"), "reason.member_removed?member=c1");
});
