// Answers to anonymous polls, kept by the tab for the participant who gave them.
import assert from "node:assert/strict";
import test from "node:test";
import { forgetVotes, keepVote, keptVote } from "../../../static/lab/ui/kit/kept_votes.js";

/** What a browser has: the values are properties of the object. */
class Storage {
  getItem(key) {
    return this[key] ?? null;
  }

  setItem(key, value) {
    this[key] = value;
  }

  removeItem(key) {
    delete this[key];
  }
}

const VOTE = { answer: "1", sure: 60, round: 1 };

function withStorage(t, storage) {
  Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get: storage });
  t.after(() => delete globalThis.sessionStorage);
}

test("an answer is kept for its participant alone", (t) => {
  const storage = new Storage();
  withStorage(t, () => storage);
  keepVote({ slug: "k1", p: "p2", poll: 1 }, VOTE);
  assert.deepEqual(keptVote({ slug: "k1", p: "p2", poll: 1 }), VOTE);
  for (const other of [{ slug: "k1", p: "p3", poll: 1 }, { slug: "k2", p: "p2", poll: 1 }, { slug: "k1", p: "p2", poll: 2 }])
    assert.equal(keptVote(other), null);
  keepVote({ slug: "k1", p: "p2", poll: 1 }, null);
  assert.equal(keptVote({ slug: "k1", p: "p2", poll: 1 }), null);
});

test("all answers are removed, and nothing else", (t) => {
  const storage = new Storage();
  withStorage(t, () => storage);
  storage.setItem("another", "stays");
  keepVote({ slug: "k1", p: "p2", poll: 1 }, VOTE);
  keepVote({ slug: "k2", p: "p4", poll: 3 }, VOTE);
  forgetVotes();
  assert.deepEqual(Object.keys(storage), ["another"]);
});

test("without storage nothing is kept, and nothing throws", (t) => {
  withStorage(t, () => {
    throw new Error("storage is blocked");
  });
  keepVote({ slug: "k1", p: "p2", poll: 1 }, VOTE);
  assert.equal(keptVote({ slug: "k1", p: "p2", poll: 1 }), null);
  forgetVotes();
});
