// What a page gets of a recorded class before it requests any part of it: lab/api/recorded.py.

export type Span = [from_us: number, to_us: number];

/** `charts`: whether one may have those of its run. */
export interface ReplayLab {
  n: number; title: string; address: string; stage: boolean; first_seq: number; last_seq: number; charts?: boolean;
}
export interface Piece { piece: number; at_us: number; length_us: number; type: string; bytes: number }
export interface ReplayChapter { chapter: number; at_us: number; title: string; by: "staff" | "proposed" }

/** Instants and spans in microseconds of class time. `segments`: when the first event of each was; `density`: events by bucket. */
export interface Manifest {
  /** In a page that plays by itself; `first_us`: where its passage begins. */
  alone?: boolean; first_us?: number;
  title: string; slug: string; chapter: string; wall_ms?: number; length_us: number; live: boolean; sealed_ms?: number | null;
  you: { p: string; role: string };
  first_seq: number; last_seq: number; segment_events: number; segments: number[];
  labs: ReplayLab[]; off_record: Span[]; quiet: Span[]; density: { bucket_us: number; counts: number[] };
  chapters: ReplayChapter[];
  audio: { pieces: Piece[]; lost: Span[]; voice: Span[]; shift_us: number };
  captions: { language: "en" | "zh-CN"; cues: number }[];
  people: { p: string; name: string; role: string }[];
  questions: { question: number; at_us: number; text: string; p: string }[];
  steps: { en: string; "zh-CN": string }[];
  /** Those that may be compared, `run/branch`, the likeliest first; `lesson`: the name of theirs in addresses, or empty. */
  own_runs: { address: string; lesson: string }[];
  polls: { poll: number; at_us: number; title: string }[];
  can: { take_over?: boolean; correct?: boolean; recognise?: boolean; seal?: boolean; export?: boolean; note?: boolean; read_notes?: boolean; share_note?: boolean };
}
