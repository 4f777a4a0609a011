// What people who do not see the page hear of a class.
import assert from "node:assert/strict";
import test from "node:test";
import { heardByLearner, heardByStaff, heardOfTimer, learnersFacts as factsOfLearner, staffsFacts as factsOfStaff } from "../../../static/lab/core/classroom/heard.js";

const MINUTE = 60e6;
const MINE = { role: "learner", looked_by: [], notes: {}, votes: {}, hand_us: 0, hand_place: 0, time_percent: 100, stage_until_us: 0 };

/** As a page does: in words. */
const answerText = ({ form, choices }, answer) => (form === "point" ? `[${answer}]` : choices[Number(answer)]);
const learnersFacts = (tree) => factsOfLearner(tree, answerText);
const staffsFacts = (tree, name) => factsOfStaff(tree, name, answerText);

/** The ids of what a learner hears between a quiet class and this one. */
const ids = (tree, before = {}) =>
  heardByLearner(learnersFacts({ mine: MINE, ...before }), learnersFacts({ mine: MINE, ...tree })).map(({ id }) => id);

test("actions of staff are announced to a learner once", () => {
  const poll = { text: "Where?", phase: "open", choices: ["at 45", "at 46"], shown: false };
  const [opened] = heardByLearner(learnersFacts({ mine: MINE }), learnersFacts({ mine: MINE, polls: { 1: poll } }));
  assert.deepEqual(opened, { topic: "poll", id: "heard.poll_open", values: { text: "Where?" } });
  assert.deepEqual(ids({ polls: { 1: poll } }, { polls: { 1: poll } }), []);
  assert.deepEqual(ids({ polls: { 1: { ...poll, phase: "closed" } } }, { polls: { 1: poll } }), ["heard.poll_closed"]);
  const [settled] = heardByLearner(learnersFacts({ mine: MINE, polls: { 1: { ...poll, phase: "closed" } } }),
    learnersFacts({ mine: MINE, polls: { 1: { ...poll, phase: "closed", outcome: "1" } } }));
  assert.deepEqual(settled.values, { answer: "at 46" });
  const point = { ...poll, form: "point", choices: [], phase: "closed" };
  const [named] = heardByLearner(learnersFacts({ mine: MINE, polls: { 1: point } }),
    learnersFacts({ mine: MINE, polls: { 1: { ...point, outcome: "broker:b2" } } }));
  assert.deepEqual(named.values, { answer: "[broker:b2]" });
  assert.deepEqual(ids({ paused: true }), ["board.mine.paused"]);
  assert.deepEqual(ids({}, { paused: true }), ["heard.resumed"]);
  assert.deepEqual(ids({ hold: 5 }), ["heard.held"]);
  assert.deepEqual(ids({ hold: 5, mine: { ...MINE, out_of_hold: true } }, { hold: 5 }), ["heard.released"]);
  assert.deepEqual(ids({ mine: { ...MINE, looked_by: ["p1"] }, staff: { p1: { name: "Lin" } } }), ["board.mine.looked_by"]);
  assert.deepEqual(ids({}, { mine: { ...MINE, hand_us: 9, hand_place: 1 } }), ["heard.hand_down"]);
});

test("a timer is announced at its start, half of it, a minute, ten seconds and its end", () => {
  const whole = 5 * MINUTE;
  const heard = [];
  let before = Infinity;
  for (let left = whole; left >= -2e6; left -= 1e6) {
    const said = heardOfTimer(before, left, whole);
    if (said) heard.push([said.id, said.values?.n]);
    before = left;
  }
  assert.deepEqual(heard, [["heard.timer_minutes", 5], ["heard.timer_minutes", 2.5], ["heard.timer_minutes", 1], ["heard.timer_seconds", 10],
    ["heard.timer_end", undefined]]);
  assert.equal(heardOfTimer(-1e6, -2e6, whole), null);
  assert.deepEqual(heardOfTimer(Infinity, 20e6, 20e6), { topic: "timer", id: "heard.timer_seconds", values: { n: 20 } });
});

test("hands, questions, stuck learners and people at the door are announced to staff, each once", () => {
  const ada = { name: "Ada", role: "learner", presence: "here", waits: false };
  const facts = (people, questions = {}) => staffsFacts({ people, questions }, (p, name) => name || p);
  const quiet = facts({ p2: ada });
  const hand = facts({ p2: { ...ada, hand: { raised_us: 1 } } });
  assert.deepEqual(heardByStaff(quiet, hand).hands, ["Ada"]);
  assert.deepEqual(heardByStaff(hand, hand).hands, []);
  const asked = facts({ p2: ada }, { 1: { p: "p2", name: "Ada", text: "Why?" }, 2: { p: "", name: "", text: "How?" } });
  assert.deepEqual(heardByStaff(quiet, asked).questions, [{ name: "Ada", text: "Why?" }, { name: "", text: "How?" }]);
  const stuck = facts({ p2: { ...ada, stuck: "idle", stuck_why: "nothing" } });
  assert.deepEqual(heardByStaff(quiet, stuck).stuck.map(({ name }) => name), ["Ada"]);
  assert.deepEqual(heardByStaff(stuck, stuck).stuck, []);
  const asks = facts({ p2: { ...ada, stuck: "asks", stuck_why: "hand" } });
  assert.deepEqual(heardByStaff(quiet, asks).stuck, [], "the hand was said");
  const poll = { text: "Where?", phase: "closed", choices: ["at 45", "at 46"], shown: true };
  const polled = (changes) => staffsFacts({ people: {}, questions: {}, polls: { 1: { ...poll, ...changes } } }, (p, name) => name || p);
  const settling = polled({ settling: { lab: "a/main", seq: 4 } });
  assert.deepEqual(heardByStaff(polled({}), settling).poll.map(({ id }) => id), ["board.poll.settling"]);
  assert.deepEqual(heardByStaff(settling, polled({ outcome: "1" })).poll, [{ topic: "poll", id: "heard.outcome", values: { answer: "at 46" } }]);
  assert.deepEqual(heardByStaff(quiet, polled({ outcome: "1" })).poll, [], "a page that opens later does not say it");
  const door = facts({ p2: ada, p3: { ...ada, waits: true } });
  assert.equal(heardByStaff(quiet, door).waiting, 1);
  assert.equal(heardByStaff(door, quiet).waiting, 0);
});
