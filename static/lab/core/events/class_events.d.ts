// Written by `manage.py gen_events` from lab/classroom. Do not change it by hand.
export interface HandRaised { p: string; lab: string; seq: number; at_us: number; selection: string; screen: string; }
export interface HandLowered { p: string; why: string; }
export interface Asked { question: number; p: string; text: number; named: boolean; lab: string; seq: number; at_us: number; selection: string; screen: string; }
export interface QuestionBacked { question: number; p: string; }
export interface Answered { question: number; how: string; }
export interface QuestionHidden { question: number; hidden: boolean; }
export interface LookBegan { p: string; by: string; }
export interface LookEnded { p: string; by: string; }
export interface HelpBegan { p: string; by: string; lab: string; seq: number; }
export interface HelperLeft { p: string; until_us: number; }
export interface HelpEnded { p: string; kept: boolean; }
export interface WheelTaken { p: string; by: string; }
export interface NoteSent { note: number; p: string; text: number; }
export interface LeadTaken { term: number; p: string; lab: string; }
export interface LeadEnded { term: number; p: string; why: string; }
export interface Held { until_us: number; }
export interface Released { why: string; }
export interface HoldLeft { p: string; }
export interface Detached { p: string; }
export interface Rejoined { p: string; }
export interface StageAsked { p: string; until_us: number; }
export interface StageAnswered { p: string; accepted: boolean; named: boolean; recorded: boolean; }
export interface StageShown { p: string; lab: string; }
export interface StageCleared { why: string; }
export interface LabMoved { lab: string; seq: number; at_us: number; mode: string; rate_us: number; }
export interface LabsSeen { moved: [string, number, number][]; }
export interface LessonBegan { lesson: string; steps: number; minutes: number; hints: number[]; handout: number; }
export interface PaceSet { step: number; }
export interface AllPaused {  }
export interface AllResumed {  }
export interface TimerSet { from_us: number; seconds: number; }
export interface TimerEnded { why: string; }
export interface TimeExtended { p: string; percent: number; }
export interface StateGiven { handout: number; lab: string; seq: number; at_us: number; }
export interface StateTaken { p: string; handout: number; lab: string; }
export interface LabShown { p: string; lab: string; }
export interface PollMade { poll: number; form: string; text: number; choices: number[]; anonymous: boolean; asks_sure: boolean; right: string; step: number; when: string; holds: string[]; asks: string; within_s: number; tags: string[]; other_text: number; other_choices: number[]; lesson: string; }
export interface PollOpened { poll: number; round: number; until_us: number; }
export interface Voted { poll: number; round: number; voter: string; answer: string; sure: number; }
export interface PollClosed { poll: number; round: number; }
export interface DiscussionBegan { poll: number; until_us: number; }
export interface SplitOpened { poll: number; }
export interface SplitShown { poll: number; }
export interface SettlingBegan { poll: number; lab: string; seq: number; }
export interface SettlingEnded { poll: number; why: string; }
export interface Revealed { poll: number; outcome: string; lab: string; seq: number; by: string; }
export interface PollEnded { poll: number; }
export interface ClassOpened { chapter: string; steps: number; minutes: number; hints: number[]; }
export interface Joined { p: string; role: string; waits: boolean; consent: string; claims: string; }
export interface Admitted { p: string; }
export interface LabGiven { p: string; lab: string; }
export interface LabRefused { p: string; why: string; }
export interface CameBack { p: string; }
export interface WentAway { p: string; since_us: number; }
export interface Left { p: string; }
export interface RoleGiven { p: string; role: string; }
export interface Renamed { p: string; }
export interface Kicked { p: string; }
export interface DoorOpened { until_us: number; admits: boolean; }
export interface DoorClosed {  }
export interface ClassResumed { gap_ms: number; wall_ms: number; }
export interface ClassEnded { why: string; }
export interface ViewChanged { view: string; }
export interface Pointed { anchor: string; u: number; v: number; down: boolean; }
export interface InkDrawn { ink: number; anchor: string; points: [number, number][]; }
export interface InkCleared { inks: number[]; }
export interface RecordingSet { on: boolean; }
export interface MicrophoneSet { p: string; on: boolean; }
export interface AudioArrived { piece: number; began_us: number; length_us: number; bytes: number; digest: string; }
export interface AudioLost { from_us: number; to_us: number; }
export interface VoiceHeard { spans: [number, number][]; }
export interface ChapterAdded { chapter: number; begins_us: number; text: number; }
export interface ChapterMoved { chapter: number; begins_us: number; }
export interface Marked { p: string; marked_us: number; text: number; }
export interface StepReached { p: string; step: number; lab: string; seq: number; at_us: number; skipped: boolean; }
export interface StepLost { p: string; step: number; lab: string; seq: number; at_us: number; }
export interface WorkReset { p: string; }
export interface HintTaken { p: string; step: number; hint: number; }
export interface Predicted { p: string; step: number; choice: string; sure: number; }
export interface Settled { p: string; step: number; right: boolean; }
export interface Refused { p: string; step: number; }
export interface MistakeMade { p: string; step: number; what: string; by: string; }
export interface MistakesShown { on: boolean; }
export interface StuckBegan { p: string; state: string; step: number; why: string; count: number; working_s: number; }
export interface StuckEnded { p: string; }
export interface StuckSeen { p: string; until_us: number; }
export interface ClassDataOf {
  HandRaised: HandRaised;
  HandLowered: HandLowered;
  Asked: Asked;
  QuestionBacked: QuestionBacked;
  Answered: Answered;
  QuestionHidden: QuestionHidden;
  LookBegan: LookBegan;
  LookEnded: LookEnded;
  HelpBegan: HelpBegan;
  HelperLeft: HelperLeft;
  HelpEnded: HelpEnded;
  WheelTaken: WheelTaken;
  NoteSent: NoteSent;
  LeadTaken: LeadTaken;
  LeadEnded: LeadEnded;
  Held: Held;
  Released: Released;
  HoldLeft: HoldLeft;
  Detached: Detached;
  Rejoined: Rejoined;
  StageAsked: StageAsked;
  StageAnswered: StageAnswered;
  StageShown: StageShown;
  StageCleared: StageCleared;
  LabMoved: LabMoved;
  LabsSeen: LabsSeen;
  LessonBegan: LessonBegan;
  PaceSet: PaceSet;
  AllPaused: AllPaused;
  AllResumed: AllResumed;
  TimerSet: TimerSet;
  TimerEnded: TimerEnded;
  TimeExtended: TimeExtended;
  StateGiven: StateGiven;
  StateTaken: StateTaken;
  LabShown: LabShown;
  PollMade: PollMade;
  PollOpened: PollOpened;
  Voted: Voted;
  PollClosed: PollClosed;
  DiscussionBegan: DiscussionBegan;
  SplitOpened: SplitOpened;
  SplitShown: SplitShown;
  SettlingBegan: SettlingBegan;
  SettlingEnded: SettlingEnded;
  Revealed: Revealed;
  PollEnded: PollEnded;
  ClassOpened: ClassOpened;
  Joined: Joined;
  Admitted: Admitted;
  LabGiven: LabGiven;
  LabRefused: LabRefused;
  CameBack: CameBack;
  WentAway: WentAway;
  Left: Left;
  RoleGiven: RoleGiven;
  Renamed: Renamed;
  Kicked: Kicked;
  DoorOpened: DoorOpened;
  DoorClosed: DoorClosed;
  ClassResumed: ClassResumed;
  ClassEnded: ClassEnded;
  ViewChanged: ViewChanged;
  Pointed: Pointed;
  InkDrawn: InkDrawn;
  InkCleared: InkCleared;
  RecordingSet: RecordingSet;
  MicrophoneSet: MicrophoneSet;
  AudioArrived: AudioArrived;
  AudioLost: AudioLost;
  VoiceHeard: VoiceHeard;
  ChapterAdded: ChapterAdded;
  ChapterMoved: ChapterMoved;
  Marked: Marked;
  StepReached: StepReached;
  StepLost: StepLost;
  WorkReset: WorkReset;
  HintTaken: HintTaken;
  Predicted: Predicted;
  Settled: Settled;
  Refused: Refused;
  MistakeMade: MistakeMade;
  MistakesShown: MistakesShown;
  StuckBegan: StuckBegan;
  StuckEnded: StuckEnded;
  StuckSeen: StuckSeen;
}
export type ClassEventKind = keyof ClassDataOf;
/** `[seq, at_us, who, act, [kind, field...]]`: `at_us` is class time. */
export type ClassWireEvent = [number, number, string, string, [ClassEventKind, ...unknown[]]];
/** `[pointer, value]`: the new value of a section; without a value it is no more. */
export type SectionPatch = [string, unknown] | [string];

// Acts, in the field `do` of an `act` frame.
export type ClassAct = { op: "take_lead"; lab: string; after?: number; } | { op: "end_lead"; } | { op: "hold"; seconds?: number; } | { op: "release"; } | { op: "leave_hold"; } | { op: "detach"; } | { op: "rejoin"; } | { op: "ask_stage"; p: string; } | { op: "answer_stage"; accepted: boolean; named?: boolean; recorded?: boolean; } | { op: "clear_stage"; } | { op: "draw"; anchor: string; points: [number, number][]; } | { op: "clear_ink"; inks?: number[]; } | { op: "see_stuck"; p: string; } | { op: "show_mistakes"; on: boolean; } | { op: "raise_hand"; at: { lab: string; seq?: number; at_us?: number; selection?: string; screen?: string; }; } | { op: "lower_hand"; p?: string; } | { op: "ask"; text: string; lang: "en" | "zh-CN"; at: { lab: string; seq?: number; at_us?: number; selection?: string; screen?: string; }; named?: boolean; } | { op: "back"; question: number; } | { op: "answer"; question: number; how: "aloud" | "note" | "stage"; } | { op: "hide_question"; question: number; hidden?: boolean; } | { op: "look"; p: string; } | { op: "end_look"; p: string; } | { op: "begin_help"; p: string; } | { op: "end_help"; p: string; } | { op: "choose_help"; kept: boolean; } | { op: "take_wheel"; p: string; } | { op: "give_state"; } | { op: "take_state"; handout: number; } | { op: "begin_lesson"; lesson: string; after: number; } | { op: "send_note"; p: string; text: string; lang: "en" | "zh-CN"; } | { op: "set_pace"; step: number; } | { op: "pause_all"; } | { op: "resume_all"; } | { op: "set_timer"; seconds: number; } | { op: "extend_timer"; seconds?: number; } | { op: "end_timer"; } | { op: "extend_time"; p: string; percent: 100 | 150 | 200; } | { op: "make_poll"; form: "choice" | "number" | "point" | "prediction"; text: string; lang: "en" | "zh-CN"; choices?: string[]; anonymous?: boolean; asks_sure?: boolean; right?: string; step?: number; when?: string; holds?: string[]; asks?: string; within_s?: number; tags?: string[]; other_text?: string; other_choices?: string[]; lesson?: string; } | { op: "open_poll"; poll: number; seconds?: number; } | { op: "vote"; poll: number; answer: string; sure?: number; } | { op: "close_poll"; poll: number; } | { op: "discuss"; poll: number; seconds?: number; } | { op: "open_split"; poll: number; } | { op: "show_split"; poll: number; } | { op: "settle_poll"; poll: number; } | { op: "end_settling"; poll: number; } | { op: "reveal"; poll: number; outcome: string; lab?: string; seq?: number; } | { op: "end_poll"; poll: number; } | { op: "set_recording"; on: boolean; } | { op: "set_microphone"; on: boolean; } | { op: "add_chapter"; text: string; lang: "en" | "zh-CN"; begins_us?: number | null; } | { op: "move_chapter"; chapter: number; begins_us: number; } | { op: "mark"; text?: string; lang?: "en" | "zh-CN"; } | { op: "admit"; p?: string; } | { op: "accept_claim"; p: string; } | { op: "rename"; p: string; name: string; } | { op: "kick"; p: string; } | { op: "let_back"; p: string; } | { op: "give_role"; p: string; role: "co-instructor" | "learner" | "observer" | "projector"; } | { op: "open_door"; stays?: boolean; admits?: boolean; } | { op: "close_door"; } | { op: "leave"; } | { op: "end_class"; };

// Frames from the page.
export type ClassFrameSent = { k: "hello"; v: number; schema: string; have?: number; boot?: string; place?: "board" | "lab" | "projector" | "replay" | "stage"; } | { k: "ack"; upto: number; } | { k: "act"; id: string; do: ClassAct; } | { k: "view"; view: { branch: string; seq: number | null; at_us: number | null; mode: "event_paced" | "pause" | "play"; rate: number; screen: string; partition: string; selection: string; ranges: Record<string, [number, number]>; window?: [number, number] | null; disk?: { broker: string; path: string; mode: string; at: number; find: string; } | null; group?: string; tab?: string; console?: boolean; overlay?: string; }; term?: number; } | { k: "point"; anchor: string; u: number; v: number; down?: boolean; } | { k: "here"; hidden?: boolean; lab?: string; sight?: string[]; at_us?: number | null; } | { k: "time"; ms: number; };

// Frames to the page.
export type ClassEvents = {
  k: "e"; after: number; upto: number; ev: ClassWireEvent[]; patch: SectionPatch[];
};
export type ClassSnap = { k: "snap"; upto: number; patch: SectionPatch[] };
export type ClassView = { k: "view"; p: string; term: number; class_us: number; view: unknown };
export type ClassPoint = {
  k: "point"; class_us: number; anchor: string; u: number; v: number; down: boolean;
};
export type ClassFrame = ClassEvents | ClassSnap | ClassView | ClassPoint | { k: "welcome"; slug: string; title: string; boot: string; schema: string; you: { p: string; role: string; name: string; }; class_us: number; limits: Record<string, number>; } | { k: "done"; id: string; seq: number; } | { k: "kept"; id: string; } | { k: "no"; id: string | null; status: number; what: string; expected: string; todo: string; again_ms?: number; } | { k: "count"; class_us: number; learners: number; observers: number; } | { k: "alarm"; class_us: number; why: string; } | { k: "shed"; class_us: number; step: number; } | { k: "bye"; why: string; again: boolean; } | { k: "time"; ms: number; class_us: number; };
