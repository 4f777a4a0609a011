// Faults of files in the visitor's language, alone and within the sentences of events.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sentence } from "../../static/lab/core/events/codec.js";
import { CHINESE, faultIn } from "../../static/lab/core/faults.js";
import { labelIn } from "../../static/lab/core/labels.js";

test("a fault finds its Chinese, with its values", () => {
  assert.equal(faultIn("the batch claims 90 bytes, 12 are left", "zh-CN"), "批次声称有 90 字节，只剩 12 字节");
  assert.equal(faultIn("the batch claims 90 bytes", "zh-CN"), "批次声称有 90 字节");
  assert.equal(faultIn("the batch claims 90 bytes", "en"), "the batch claims 90 bytes");
});

test("a value that is a sentence is translated, too", () => {
  assert.equal(
    faultIn("offset 9 is out of the range of segment 3: it becomes the segments 3, 9", "zh-CN"),
    "位移 9 超出日志段 3 的范围：它被拆成日志段 3, 9",
  );
  assert.equal(
    faultIn("broker-1/t-0/00000000000000000000.log, byte 7: the last batch is not whole", "zh-CN"),
    "broker-1/t-0/00000000000000000000.log，字节 7：最后一个批次不完整",
  );
});

test("what nobody has translated stays as it is", () => {
  assert.equal(faultIn("log retention time 5ms breach", "zh-CN"), "log retention time 5ms breach");
  assert.equal(faultIn("", "zh-CN"), "");
});

test("each sentence is found by itself", () => {
  for (const [english, chinese] of Object.entries(CHINESE)) {
    const values = (text) => text.replace(/\{(\d)\}/g, (_, place) => `7${place}`);
    assert.equal(faultIn(values(english), "zh-CN"), values(chinese));
  }
});

test("events say it in one language", () => {
  const data = { replica: "t-0@b1", file: "a.log", repair: "cut", position: 5, length: 9, rule: "the batch claims 90 bytes, 12 are left", digest: "" };
  const event = { seq: 1, at_us: 0, node: "b1", cause: 0, kind: "LogRepaired", family: "log", data };
  assert.equal(sentence(event, "zh-CN"), "t-0@b1：a.log 在字节 5 处被修复（截断）：批次声称有 90 字节，只剩 12 字节");
  assert.equal(sentence(event, "en"), "t-0@b1: a.log was cut, byte 5: the batch claims 90 bytes, 12 are left");
});

test("messages say in one language what stands on them, and keep the names of APIs", () => {
  assert.equal(labelIn("Fetch 3 partitions", "zh-CN"), "Fetch 3 个分区");
  assert.equal(labelIn("3 partitions, 90 bytes", "zh-CN"), "3 个分区，90 字节");
  assert.equal(labelIn("Produce orders-0", "zh-CN"), "Produce orders-0");
  assert.equal(labelIn("nothing new", "en"), "nothing new");
  assert.equal(labelIn("1 topics", "en"), "1 topic");
  assert.equal(labelIn("1 partitions, 81 bytes", "en"), "1 partition, 81 bytes");
  assert.equal(labelIn("orders-1 offsets", "en"), "orders-1 offsets");
  const data = { source: "b1", destination: "b2", label: "nothing new" };
  const event = { seq: 1, at_us: 0, node: "b1", cause: 0, kind: "RpcSent", family: "rpc", data };
  assert.equal(sentence(event, "zh-CN"), "b1 向 b2 发送 没有新消息");
});
