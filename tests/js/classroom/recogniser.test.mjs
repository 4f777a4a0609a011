import assert from "node:assert/strict";
import { test } from "node:test";

import { Recogniser, recognises } from "../../../static/lab/core/sound/recogniser.js";

/** A browser whose recognition the test drives, and which may use a service for it. @param {string} availability */
function browser(availability) {
  return class {
    static last;
    static asked = [];
    static async available(asked) {
      this.asked.push(asked);
      return availability;
    }

    starts = 0;
    constructor() {
      this.constructor.last = this;
    }

    start() {
      this.starts += 1;
    }

    stop() {
      this.onend();
    }
  };
}

/** One that can recognise on this machine. @param {string} availability */
function local(availability) {
  const type = browser(availability);
  Object.defineProperty(type.prototype, "processLocally", { value: false, writable: true });
  return type;
}

test("recognition is offered only where the browser performs it on this machine", async () => {
  assert.equal(await recognises(undefined, "en"), false);
  assert.equal(await recognises(browser("available"), "en"), false, "it cannot promise to");
  assert.equal(await recognises(local("downloadable"), "zh-CN"), false);
  const type = local("available");
  assert.equal(await recognises(type, "zh-CN"), true);
  assert.deepEqual(type.asked, [{ langs: ["zh-CN"], processLocally: true }]);
});

test("a sentence has the time of its first recognition, and recognition continues after a pause", () => {
  const type = local("available");
  let now_us = 1e6;
  const [heard, ended] = [[], []];
  const recogniser = new Recogniser(type, "en", () => now_us, (spoken) => heard.push(spoken), (why) => ended.push(why));
  const said = (transcript, isFinal) => type.last.onresult({ resultIndex: 0, results: [{ isFinal, 0: { transcript } }] });
  assert.deepEqual([type.last.processLocally, type.last.lang, type.last.starts], [true, "en-US", 1]);
  said(" the high", false);
  now_us = 3e6;
  said(" the high watermark ", true);
  assert.deepEqual(heard, [{ from_us: 1e6, to_us: 3e6, text: "the high watermark" }]);
  type.last.onend();
  now_us = 9e6;
  said("waits", true);
  assert.deepEqual([heard[1].from_us, type.last.starts], [9e6, 2]);
  recogniser.stop();
  assert.deepEqual([type.last.starts, ended], [2, []]);
});

test("the end of recognition is reported once", () => {
  const type = local("available");
  const ended = [];
  new Recogniser(type, "en", () => 0, () => {}, (why) => ended.push(why));
  type.last.onerror({ error: "no-speech" });
  type.last.onend();
  type.last.onerror({ error: "not-allowed" });
  type.last.onend();
  assert.deepEqual([ended, type.last.starts], [["not-allowed"], 2]);
});
