// What the server sends of a class, as lab/classroom/views.py makes it. Instants ending in `_us` are class time in microseconds.

export type Role = "instructor" | "co-instructor" | "learner" | "observer" | "projector";
export type Presence = "here" | "away" | "left";
export type Stuck = "" | "asks" | "struggles" | "idle" | "late";
/** Why there is no lab in the lesson that the class is at. */
export type LabRefused = "" | "runs" | "disk" | "failed";
export type Sign = "done" | "hinted" | "skipped" | "lost";

/** An instant of a participant's lab. */
export interface Instant { lab: string; seq: number; at_us: number; selection: string; screen: string }

export interface Help { by: string; lab: string; seq: number; wheel: string; until_us: number }

/** A participant as staff see them; what follows `waits` is of learners alone. */
export interface Person {
  name: string; role: Role; presence: Presence; since_us: number; waits: boolean;
  /** The participant that a waiting person claims to be. */
  claims?: string;
  lab?: string; lab_refused?: LabRefused; step?: number; signs?: Record<string, Sign>; hints?: number; refused?: number; right?: number; settled?: number;
  follows?: boolean; out_of_hold?: boolean; stuck?: Stuck; stuck_why?: string; stuck_count?: number; stuck_us?: number;
  seen_until_us?: number; hand?: ({ raised_us: number } & Instant) | null; looked_by?: string[]; time_percent?: number;
  stage_refusals?: number; may_be_asked?: boolean; help?: Help;
}

export interface Question {
  text: string; lang: string; p: string; name: string; asked_us: number; backers: number; answered: string; hidden: boolean; at: Instant | null;
}

/** `answers` and `sure`: votes, and how sure they were in percent, by answer; empty with fewer than five votes. */
export interface Split { count: number; answers: Record<string, number>; sure: Record<string, number>; right: number }

export interface Poll {
  form: "choice" | "number" | "point" | "prediction"; text: string; lang: string; choices: string[]; anonymous: boolean;
  asks_sure: boolean; step: number; lesson: string; phase: "made" | "open" | "closed" | "discussed" | "ended"; until_us: number; round: number;
  shown: boolean; outcome?: string; lab?: string; seq?: number; by?: "" | "lab" | "staff"; settling?: { lab: string; seq: number };
  splits?: Split[]; by_lab?: boolean; why_not?: "" | "none" | "lab" | "act";
  /** What is asked, in the other language; `text` is empty if staff asked in their own words. */
  other?: { lang: string; text: string; choices: string[] };
  right?: string; votes?: number; split_open?: boolean; advice?: "" | "explain" | "discuss" | "go_on"; voted?: string[];
}

export interface Note { from: string; to: string; text: string; lang: string; sent_us: number }

/** `what`: the tag of a misconception, or `step/id` of a wrong state; `by` says which. */
export interface Mistake { what: string; by: "choice" | "state"; steps: number[]; learners: number; last_us: number }

/** What is this person's alone. `lab`: that in front; `own_lab`: that of the lesson. */
export interface Mine {
  role: Role; name: string; waits: boolean; kicked: boolean; lab: string; own_lab: string; lab_refused: LabRefused; step: number; signs: Record<string, Sign>;
  follows: boolean; out_of_hold: boolean; hand_us: number; hand_place: number; looked_by: string[]; help: Help | null;
  stage_until_us: number; on_stage: boolean; time_percent: number; taken: Record<string, string>; backed: number[];
  asked: number[]; notes: Record<string, Note>; votes: Record<string, { answer: string; sure: number; round: number }>; marks: number[];
}

/** The tree of all sections that a page may see. */
export interface ClassTree {
  /** `chapter`: the slug of the lesson; `handout`: with which its labs began, another one with each lesson. */
  class?: { chapter: string; steps: number; minutes: number; opened_us: number; ended: string; handout: number };
  door?: { is_open: boolean; until_us: number; admits: boolean };
  staff?: Record<string, { name: string; role: Role; presence: Presence }>;
  lead?: { term: number; p: string; name: string; lab: string; presence: Presence };
  hold?: number;
  stage?: { lab: string; shown: boolean; until_us: number; p: string; name: string };
  view?: Record<string, unknown>;
  lead_lab?: { lab: string; seq: number; at_us: number; mode: string; rate_us: number };
  pace?: number;
  paused?: boolean;
  timer?: { from_us: number; seconds: number };
  /** `fewest`: the mistakes of fewer learners are not shown to the class. */
  mistakes?: { shown: boolean; fewest: number; rows: Mistake[] };
  recording?: boolean;
  audio?: { p: string; name: string; arrived_us: number; lost_us: number };
  people?: Record<string, Person>;
  questions?: Record<string, Question>;
  notes?: Record<string, Note>;
  polls?: Record<string, Poll>;
  ink?: Record<string, { anchor: string; points: [number, number][] }>;
  handouts?: Record<string, { seq: number; at_us: number; lab: string }>;
  chapters?: Record<string, { begins_us: number; text: string; lang: string }>;
  mine?: Mine;
}

/** A replica of a tile. Role: leader, in sync, out of sync, offline. `cut`: the offset that its log was truncated to last, null for never. */
export type TileReplica = [broker: number, role: "l" | "i" | "o" | "x", first: number, end: number, hw: number, cut: number | null];
/** The newest state of a lab; see lab/runtime/classes/tiles.py. */
export type Tile = [mode: "asleep" | "pause" | "play" | "event_paced", seq: number, at_us: number, partition: string, replicas: TileReplica[]];

/** Something that a page asks of the class; see lab/classroom/acts/ops.py. */
export type Act = { op: string } & Record<string, unknown>;
