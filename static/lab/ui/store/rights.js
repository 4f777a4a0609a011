// What the visitor may do to the lab that is shown, and why not: one signal for all controls and keys. The server decides, in
// any case; the page only does not offer what it would refuse.
import { t } from "../kit/i18n.js";
import { notify, overlay } from "./api.js";
import { onSteer, steer, TAKES } from "./interactions.js";
import { computed, effect, isOwn, moment, ownWelcome, signal, welcome } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Overlay } from "./api.js" */
/** @import { Interaction, Right, Taken } from "./interactions.js" */

/**
 * @typedef {{ label: string, title?: string, run?: () => unknown, href?: string }} Way what the visitor can do instead
 * @typedef {{ text: string, ways?: Way[] }} Reason one sentence
 */

/** Whether the class has stopped the page's own lab: its time, and with it commands. */
export const isStopped = signal(false);
const isPast = computed(() => moment.value.isPast);

/** The rights that the visitor has to what is shown; null before the server has said so. A lab that is followed is only looked at. */
const held = computed(() => (isOwn.value ? welcome.value?.rights ?? null : []));

/** Whether the visitor has a right to what is shown, at whichever instant. @param {Right} right */
export const holds = (right) => held.value?.includes(right) ?? true;

/** What is not available, as words: only a change of them redraws anything. */
const lacking = computed(() => {
  const playsPast = isOwn.value && isPast.value; // The page plays it by itself.
  const stops = isOwn.value && isStopped.value;
  const lacksLive = !holds("time") || stops;
  /** @type {Record<Taken, boolean>} */
  const found = {
    act: !holds("act") || stops,
    mark: !holds("act"),
    fork: !holds("fork"),
    time: !playsPast && lacksLive,
    live: lacksLive,
    speed: !playsPast && !holds("time"),
    answer: !(ownWelcome.value?.rights ?? ["act"]).includes("act"),
  };
  return Object.entries(found).filter(([, isLacking]) => isLacking).map(([what]) => what).join(" ");
});

/** What the visitor may not do now. @returns {Set<string>} */
export const unavailable = () => new Set(lacking.value.split(" ").filter(Boolean));

/** @param {Taken} what */
export const lacks = (what) => unavailable().has(what);

/** @type {Signal<() => Reason | null>} */
const told = signal(() => null);
/** For pages that know more about why the visitor may not act. @param {() => Reason | null} how reads signals */
export const tellReason = (how) => void (told.value = how);

/** Why not everything is available, and what to do; null where it is. @type {Signal<Reason | null>} */
export const reason = computed(() => (lacking.value ? told.value() ?? { text: t("watch.foreign") } : null));

/** Tells the visitor why something was not done. */
export function explain() {
  const why = reason.peek();
  if (why) notify("warn", why.text, { todo: why.ways?.map(({ label }) => label).join(" · ") });
}

/** Whether a question of the lesson may be answered. It is about the page's own lab, so a page that follows shows that again. */
export function mayAnswer() {
  steer("answer");
  return !lacks("answer");
}

onSteer((interaction) => {
  const right = TAKES[interaction];
  // What a page that follows does is decided by store/follow.js.
  if (!right || !isOwn.peek() || !lacks(right)) return true;
  explain();
  return false;
});

/** Dialogs that do something in the lab. @type {Partial<Record<Overlay["kind"], Interaction>>} */
const OPENS = {
  topic: "command", producer: "command", member: "command", assignor: "command", bookmark: "bookmark", pause: "live", fork: "fork",
};
effect(() => {
  const does = OPENS[overlay.value?.kind ?? "help"];
  // The dialog of a presenter is shown to whoever follows.
  if (does && isOwn.peek() && !steer(does)) overlay.value = null;
});
