// A recorded class in a fixed state.

/** @import { Manifest } from "../../../../core/replay/manifest.d.ts" */
/** @import { Cue } from "../../replay/captions.js" */

const MINUTE_US = 60e6;
/** The instant that is shown. */
export const AT_US = 21.7 * MINUTE_US;

/** @type {Manifest["can"]} */
const STAFF_CAN = { take_over: true, correct: true, recognise: true, export: true, note: true, read_notes: true, share_note: true };

/** @type {Manifest} */
export const MANIFEST = {
  title: "Replication, on Tuesday", slug: "gallery", chapter: "005-the-lost-record", length_us: 46 * MINUTE_US, live: false,
  you: { p: "p1", role: "instructor" },
  first_seq: 1, last_seq: 4200, segment_events: 500, segments: [0],
  labs: [
    { n: 0, title: "Instructor", address: "k0/main", stage: false, first_seq: 1, last_seq: 900, charts: true },
    { n: 1, title: "Swift Heron", address: "k4/main", stage: true, first_seq: 1, last_seq: 840 },
  ],
  off_record: [[30 * MINUTE_US, 33 * MINUTE_US]],
  quiet: [[10 * MINUTE_US, 14 * MINUTE_US], [38 * MINUTE_US, 41 * MINUTE_US]],
  density: { bucket_us: MINUTE_US, counts: Array.from({ length: 46 }, (_, minute) => (minute * 37) % 91 + (minute % 9 === 4 ? 220 : 3)) },
  chapters: [
    { chapter: 1, at_us: 0, title: "Recap", by: "staff" },
    { chapter: 2, at_us: 8 * MINUTE_US, title: "The high watermark", by: "staff" },
    { chapter: 3, at_us: 21 * MINUTE_US, title: "Truncation", by: "staff" },
    { chapter: 4, at_us: 34 * MINUTE_US, title: "Why a follower that was held does not keep what nobody else has", by: "proposed" },
  ],
  audio: {
    pieces: [{ piece: 0, at_us: 0, length_us: 46 * MINUTE_US, type: "audio/webm", bytes: 9_000_000 }],
    lost: [[26 * MINUTE_US, 27 * MINUTE_US]], voice: [], shift_us: 150_000,
  },
  captions: [{ language: "en", cues: 3 }, { language: "zh-CN", cues: 2 }],
  people: [],
  questions: [
    { question: 1, at_us: 12 * MINUTE_US, text: "Why 45, when broker 3 has 46?", p: "p4" },
    { question: 2, at_us: 24 * MINUTE_US, text: "", p: "p5" },
    { question: 3, at_us: 25 * MINUTE_US, text: "检查点文件里现在是什么？", p: "p6" },
  ],
  steps: [], own_runs: [],
  polls: [{ poll: 1, at_us: 18 * MINUTE_US, title: "Where does the log of broker 3 end?" }],
  can: STAFF_CAN,
};

/** @type {Record<"en" | "zh-CN", Cue[]>} */
export const CUES = {
  en: [
    { cue: 1, from_us: 20.9 * MINUTE_US, to_us: 21.2 * MINUTE_US, text: "Broker 2 leads now.", source: "typed" },
    { cue: 2, from_us: AT_US - 2e6, to_us: AT_US + 3e6, source: "recognised",
      text: "Broker 3 follows it, so its log ends at the high watermark that it learned from the last fetch response." },
    { cue: 3, from_us: 23 * MINUTE_US, to_us: 23.1 * MINUTE_US, text: "What was above it is gone.", source: "file" },
  ],
  "zh-CN": [
    { cue: 1, from_us: 20.9 * MINUTE_US, to_us: 21.2 * MINUTE_US, text: "现在代理 2 是首领。", source: "typed" },
    { cue: 2, from_us: AT_US - 2e6, to_us: AT_US + 3e6, text: "代理 3 跟随它，因此日志末端就是从上一个拉取响应得知的高水位。", source: "typed" },
  ],
};

/** Events of the labs that were shown, as sentences. */
export const LINES = [
  { at_us: 9 * MINUTE_US, text: "Broker 1 became the controller.", lang: "en", tone: "event", isAlarm: false },
  { at_us: 20 * MINUTE_US, text: "Broker 1 crashed.", lang: "en", tone: "alarm", isAlarm: true },
  { at_us: 21.5 * MINUTE_US, text: "orders-0 on broker 3: the log was truncated from offset 46 to offset 45, which removed 1 record.",
    lang: "en", tone: "alarm", isAlarm: true },
];

export const NOTES = [
  { id: "n1", at_us: 9.5 * MINUTE_US, text: "Look this up: KIP-101.", shared: false },
  { id: "n2", at_us: 21.6 * MINUTE_US, text: "检查点文件里写的是什么？\nAsk about the checkpoint file of the leader epochs again.", shared: true },
];

export const FOUND = [
  { at_us: 8 * MINUTE_US, kind: "chapter", text: "The high watermark", language: "" },
  { at_us: AT_US - 2e6, kind: "caption", text: "so its log ends at the high watermark", language: "en" },
];
