// What people who do not see the page must hear of a class: the difference between two of its states, as ids of texts with values.

/** @import { ClassTree, Person, Poll } from "./class.d.ts" */

/**
 * @typedef {{ topic: string, id: string, values?: Record<string, string | number> }} Heard
 *   of each topic the newest sentence matters
 * @typedef {{ poll: number, text: string, phase: string, shown: boolean, settling: boolean, outcome: string }} HeardPoll
 * @typedef {{ poll: HeardPoll | null, paused: boolean, held: boolean, timer: string, timer_ends_us: number, looked_by: string,
 *   place: number, stage_asked: boolean, on_stage: boolean }} LearnersFacts
 * @typedef {{ hands: Map<string, string>, questions: Map<string, { name: string, text: string }>,
 *   stuck: Map<string, { name: string, why: string, person: Person }>, waiting: number, poll: HeardPoll | null }} StaffsFacts
 */

const MINUTE_US = 60e6;
const LAST_US = 10e6;

/** @typedef {(poll: Poll, answer: string) => string} Answers an answer as people read it */

/** The poll that is not over. @param {ClassTree} tree @param {Answers} answerText @returns {HeardPoll | null} */
function pollOf(tree, answerText) {
  const found = Object.entries(tree.polls ?? {}).findLast(([, poll]) => poll.phase !== "ended");
  if (!found) return null;
  const [number, poll] = found;
  const { text, phase, shown, settling, outcome = "" } = poll;
  const answer = outcome && answerText(poll, outcome);
  return { poll: Number(number), text, phase, shown, settling: Boolean(settling), outcome: answer };
}

/** A hold concerns learners alone. @param {ClassTree} tree */
const isHeld = ({ mine, hold }) => mine?.role === "learner" && Boolean(hold) && !mine.out_of_hold;

/**
 * What of a class a learner hears; sections of the tree change in place, so this is kept instead.
 * @param {ClassTree} tree
 * @param {Answers} answerText
 * @returns {LearnersFacts}
 */
export function learnersFacts(tree, answerText) {
  const { mine, paused, timer, staff = {} } = tree;
  const looking = mine?.looked_by[0] ?? "";
  return {
    poll: pollOf(tree, answerText),
    paused: Boolean(paused),
    held: isHeld(tree),
    timer: timer ? `${timer.from_us}/${timer.seconds}` : "",
    timer_ends_us: timer ? timer.from_us + timer.seconds * 10_000 * (mine?.time_percent ?? 100) : 0,
    looked_by: looking && (staff[looking]?.name || looking),
    place: mine?.hand_us ? mine.hand_place : 0,
    stage_asked: (mine?.stage_until_us ?? 0) > 0,
    on_stage: Boolean(mine?.on_stage),
  };
}

/** @param {LearnersFacts} before @param {LearnersFacts} now @returns {Heard[]} */
export function heardByLearner(before, now) {
  /** @type {Heard[]} */
  const heard = [...heardOfPoll(before.poll, now.poll)];
  /** @param {boolean} changed @param {string} topic @param {string} id @param {Heard["values"]} [values] */
  const say = (changed, topic, id, values) => changed && heard.push({ topic, id, values });
  say(now.held !== before.held, "hold", now.held ? "heard.held" : "heard.released");
  say(now.paused !== before.paused, "pause", now.paused ? "board.mine.paused" : "heard.resumed");
  say(now.looked_by !== before.looked_by, "look", now.looked_by ? "board.mine.looked_by" : "heard.not_looked", { name: now.looked_by });
  say(now.place !== before.place && now.place > 0, "hand", "board.mine.hand_up", { n: now.place });
  say(now.place !== before.place && now.place === 0, "hand", "heard.hand_down");
  say(now.stage_asked && !before.stage_asked, "stage", "heard.stage_asked");
  say(now.on_stage && !before.on_stage, "stage", "board.mine.on_stage");
  return heard;
}

/** @param {HeardPoll | null} before @param {HeardPoll | null} now @returns {Heard[]} */
function heardOfPoll(before, now) {
  if (!now) return [];
  const same = before?.poll === now.poll ? before : null;
  if (now.phase === "open" && same?.phase !== "open") return [{ topic: "poll", id: "heard.poll_open", values: { text: now.text } }];
  const settled = heardOfSettling(same, now);
  if (settled.length) return settled;
  if (now.shown && !same?.shown) return [{ topic: "poll", id: "heard.split" }];
  if (now.phase !== "open" && same?.phase === "open") return [{ topic: "poll", id: "heard.poll_closed" }];
  return [];
}

/** What of a poll concerns both sides: the lab settles it, and what came true. @param {HeardPoll | null} before @param {HeardPoll} now
 * @returns {Heard[]} */
function heardOfSettling(before, now) {
  if (now.outcome && !before?.outcome) return [{ topic: "poll", id: "heard.outcome", values: { answer: now.outcome } }];
  return now.settling && !before?.settling ? [{ topic: "poll", id: "board.poll.settling" }] : [];
}

/**
 * What a learner hears of the timer: its start, half of it, a minute, ten seconds, its end.
 * @param {number} before_us left at the last look, Infinity when the timer was set
 * @param {number} left_us
 * @param {number} whole_us
 * @returns {Heard | null}
 */
export function heardOfTimer(before_us, left_us, whole_us) {
  const marks = [whole_us, whole_us / 2, MINUTE_US, LAST_US, 0].filter((mark) => mark <= whole_us);
  const passed = marks.filter((mark) => left_us <= mark && mark < before_us);
  if (!passed.length) return null;
  const seconds = Math.round(Math.max(0, left_us) / 1e6);
  if (left_us <= 0) return { topic: "timer", id: "heard.timer_end" };
  return seconds >= 60 ? { topic: "timer", id: "heard.timer_minutes", values: { n: Math.round(seconds / 6) / 10 } }
    : { topic: "timer", id: "heard.timer_seconds", values: { n: seconds } };
}

/**
 * What of a class staff hear.
 * @param {ClassTree} tree @param {(p: string, name: string) => string} shownName @param {Answers} answerText
 * @returns {StaffsFacts}
 */
export function staffsFacts(tree, shownName, answerText) {
  const people = Object.entries(tree.people ?? {});
  const learners = people.filter(([, person]) => person.role === "learner" && person.presence !== "left" && !person.waits);
  return {
    hands: new Map(learners.filter(([, person]) => person.hand).map(([p, person]) => [p, shownName(p, person.name)])),
    questions: new Map(Object.entries(tree.questions ?? {}).map(([number, { p, name, text }]) => [number, { name: p ? shownName(p, name)
      : "", text }])),
    stuck: new Map(learners.filter(([, { stuck }]) => stuck && stuck !== "asks").map(([p, person]) => [p, {
      name: shownName(p, person.name), why: `${person.stuck} ${person.stuck_why}`, person,
    }])),
    waiting: people.filter(([, person]) => person.waits && person.presence !== "left").length,
    poll: pollOf(tree, answerText),
  };
}

/**
 * New hands, questions, learners who are stuck, people at the door, and the outcome of a poll.
 * @param {StaffsFacts} before @param {StaffsFacts} now
 */
export function heardByStaff(before, now) {
  return {
    hands: [...now.hands].filter(([p]) => !before.hands.has(p)).map(([, name]) => name),
    questions: [...now.questions].filter(([number]) => !before.questions.has(number)).map(([, question]) => question),
    stuck: [...now.stuck].filter(([p, { why }]) => before.stuck.get(p)?.why !== why).map(([, one]) => one),
    waiting: now.waiting > before.waiting ? now.waiting : 0,
    poll: now.poll && before.poll?.poll === now.poll.poll ? heardOfSettling(before.poll, now.poll) : [],
  };
}
