// A class in a fixed state, for the components that show one.
import { chapters } from "../../../classroom/lessons.js";
import { now_us, tiles, tree } from "../../../classroom/store.js";

/** @import { ClassRoom } from "../../../../core/classroom/class_room.js" */
/** @import { ClassTree, Person, Poll, Tile, TileReplica } from "../../../../core/classroom/class.d.ts" */

export const NOW_US = 1902e6;
/** A learner, by number, whom nobody helps. */
export const LEARNER = "p9";
/** The visitor's connection with the class: that of the instructor, who does nothing. */
export const ROOM = /** @type {ClassRoom} */ (/** @type {unknown} */ ({
  you: { p: "p1", role: "instructor", name: "Instructor" }, clock: { us: NOW_US }, act: async () => {}, sees: () => {},
}));
const STEPS = 8;
const NAMES = ["Swift Heron", "Calm Otter", "晨光海雀", "Bright Finch", "Quiet Lynx", "Amber Crane", "青山白鹭", "Steady Vole", "Clear Tern",
  "Early Wren", "Lucky Mole", "Noble Ibis"];

/** @param {number} index @returns {Person} */
function learner(index) {
  const step = 3 + (index % 5);
  /** @type {Person["signs"]} */
  const signs = {};
  for (let done = 1; done < step; done++) signs[done] = (done + index) % 4 === 0 ? "hinted" : "done";
  if (index === 4) signs[2] = "lost";
  if (index === 7 && step > 3) signs[3] = "skipped";
  return {
    name: NAMES[index], role: "learner", presence: index === 9 ? "away" : "here", since_us: 0, waits: false, lab: `k${index}/main`, step,
      signs,
    hints: index % 3, refused: 0, right: index % 4, settled: 3, follows: index % 3 === 0, out_of_hold: false, stuck: "", stuck_why: "",
    stuck_count: 0, stuck_us: 0, seen_until_us: 0, hand: null, looked_by: [], time_percent: 100, stage_refusals: 0, may_be_asked: true,
    ...(index === 0 ? { stuck: /** @type {const} */ ("struggles"), stuck_why: "refused", stuck_count: 4, stuck_us: NOW_US - 564e6 } : {}),
    ...(index === 1 ? { stuck: /** @type {const} */ ("idle"), stuck_why: "nothing", stuck_us: NOW_US - 366e6 } : {}),
    ...(index === 5 ? {
      stuck: /** @type {const} */ ("asks"), stuck_why: "hand", stuck_us: NOW_US - 192e6,
      hand: { raised_us: NOW_US - 192e6, lab: "k5/main", seq: 840, at_us: 17_302_000, selection: "orders-0", screen: "picture" },
    } : {}),
  };
}

/** @param {number} index @returns {Tile} */
function tile(index) {
  /** @type {TileReplica[]} */
  const replicas = [
    [1, "x", 40, 45, 45, null],
    [2, "l", 40, 46 + (index % 3), 45, null],
    [3, index % 4 === 2 ? "o" : "i", 40, 45 + ((index * 7) % 3 ? 0 : 1), 45, index === 0 ? 45 : null],
  ];
  return ["pause", 1200 + index, 17_302_000, "orders-0", replicas];
}

/** @type {Poll} */
export const POLL = {
  form: "choice", text: "Where does the log of broker 3 end after it follows broker 2?", lang: "en",
  choices: ["where it did", "at its high watermark", "at 0"], anonymous: true, asks_sure: true, step: 5,
  lesson: "005-the-lost-record", phase: "closed", until_us: 0, round: 2,
  shown: false, right: "1", votes: 11, split_open: false, advice: "discuss", voted: [],
  splits: [
    { count: 11, answers: { 0: 7, 1: 3, 2: 1 }, sure: { 0: 81, 1: 55, 2: 44 }, right: 3 },
    { count: 11, answers: { 0: 4, 1: 6, 2: 1 }, sure: { 0: 70, 1: 62, 2: 44 }, right: 6 },
  ],
};

const NUMBERS = NAMES.map((_, index) => index);

/** The class as its instructor and one of its learners see it. @returns {ClassTree} */
export function classTree() {
  return {
    class: { chapter: "005-the-lost-record", steps: STEPS, minutes: 45, opened_us: 0, ended: "", handout: 1 },
    door: { is_open: true, until_us: 0, admits: true },
    staff: { p1: { name: "Instructor", role: "instructor", presence: "here" } },
    lead: { term: 2, p: "p1", name: "Instructor", lab: "k0/main", presence: "here" },
    stage: { lab: "k4/main", shown: true, until_us: 0, p: "p7", name: NAMES[4] },
    pace: 5,
    recording: true,
    mistakes: {
      shown: true,
      fewest: 2,
      rows: [
        { what: "A follower's high watermark is that of the leader.", by: "choice", steps: [2, 5], learners: 7, last_us: NOW_US - 20e6 },
        { what: "在同步副本集里，日志末端就相同。", by: "choice", steps: [5], learners: 4, last_us: NOW_US - 90e6 },
        { what: "`broker 3` is down, not held", by: "state", steps: [3], learners: 1, last_us: NOW_US - 300e6 },
      ],
    },
    people: {
      ...Object.fromEntries(NUMBERS.map((index) => [`p${index + 3}`, learner(index)])),
      p30: { name: "New Puffin", role: "learner", presence: "here", since_us: 0, waits: true },
    },
    questions: {
      1: {
        text: "Why 45, when broker 3 has 46?", lang: "en", p: "p4", name: NAMES[1], asked_us: NOW_US - 468e6, backers: 3, answered: "",
          hidden: false,
        at: { lab: "k1/main", seq: 840, at_us: 17_302_000, selection: "orders-0", screen: "picture" },
      },
      2: { text: "检查点文件里现在是什么？", lang: "zh-CN", p: "", name: "", asked_us: NOW_US - 60e6, backers: 0, answered: "", hidden: false,
        at: null },
    },
    polls: { 1: POLL },
    mine: {
      role: "learner", name: NAMES[4], waits: false, kicked: false, lab: "k4/main", own_lab: "k4/main", lab_refused: "", step: 5,
      signs: {}, follows: true, out_of_hold: false, hand_us: NOW_US - 60e6,
      hand_place: 2, looked_by: ["p1"], help: null, stage_until_us: 0, on_stage: true, time_percent: 100, taken: {},
      backed: [1], asked: [], votes: {}, marks: [],
      notes: { 1: { from: "p1", to: "p7", text: "Look at the leader epoch cache.", lang: "en", sent_us: NOW_US - 30e6 } },
    },
    chapters: {
      1: { begins_us: 0, text: "Recap", lang: "en" },
      2: { begins_us: 480e6, text: "The high watermark", lang: "en" },
      3: { begins_us: 1260e6, text: "Truncation", lang: "en" },
    },
  };
}

/** Shows the class, with some of its sections changed. @param {ClassTree} [changes] */
export function showClass(changes = {}) {
  chapters.value = [{ title: "2 Replication", lessons: [
    { slug: "005-the-lost-record", number: "2.3", title: "The lost record" },
    { slug: "006-two-leaders", number: "2.4", title: "Two leaders, and a record that was acknowledged by one of them" },
  ] }];
  tree.value = { ...classTree(), ...changes };
  tiles.value = Object.fromEntries(NUMBERS.map((index) => [`p${index + 3}`, tile(index)]));
  now_us.value = NOW_US;
}

/** The class off the record, with sound, and ended. @returns {ClassTree[]} */
export function tops() {
  const held = classTree();
  return [
    { ...held, recording: false },
    { ...held, audio: { p: "p1", name: "Instructor", arrived_us: NOW_US - 4e6, lost_us: 0 } },
    { ...held, class: held.class && { ...held.class, ended: "act" } },
  ];
}
