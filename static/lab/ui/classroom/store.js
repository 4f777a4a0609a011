// The class of this page: its state as signals, acts with their refusals, and what several panels compute from both.
import { signal } from "@preact/signals-core";
import { inLanguage } from "../../core/classroom/polls.js";
import { has, language, t } from "../kit/i18n.js";
import { thingName } from "../kit/things.js";

/** @import { Act, ClassTree, Person, Poll, Tile } from "../../core/classroom/class.d.ts" */
/** @import { ClassRoom, Said } from "../../core/classroom/class_room.js" */
/** @import { Signal } from "@preact/signals-core" */

const TICK_MS = 1000;
const STUCK_ORDER = ["asks", "struggles", "idle", "late", ""];

/** What a class shows now; a new object at each change. @type {Signal<ClassTree>} */
export const tree = signal({});
/** @type {Signal<Record<string, Tile>>} */
export const tiles = signal({});
/**
 * `outdated`: the page has to be loaded again. `why`: the server has it wait before it connects again.
 * @type {Signal<{ state: "connecting" | "open" | "lost", closed: string, why: string, outdated: boolean }>}
 */
export const connection = signal({ state: "connecting", closed: "", why: "", outdated: false });
/** Class time in microseconds, once a second. */
export const now_us = signal(0);
/** @type {Signal<{ learners: number, observers: number } | null>} */
export const count = signal(null);
/** The last captions, by language. @type {Signal<Record<string, Said[]>>} */
export const said = signal({});
/** How many things a server that is behind leaves out, for staff; 0 for none. */
export const shed = signal(0);
/** For staff: who replays the class, with the instant that their page shows. @type {Signal<Record<string, number>>} */
export const catchingUp = signal({});
/** Participants have numbers in place of names, for a screen that others see. */
export const hidesNames = signal(false);
/** A refusal that is shown until it is closed. @type {Signal<{ what: string, expected: string, todo: string } | null>} */
export const refused = signal(null);
/** The participant whose dialog is open; empty for none. */
export const opened = signal("");

/** @type {ClassRoom | null} */
let room = null;
/** The class in addresses. */
export const classSlug = signal("");

/** The class that this page is connected to. */
export const joined = () => room;

/** @param {ClassRoom} to */
export function join(to) {
  room = to;
  now_us.value = to.clock.us;
  setInterval(() => (now_us.value = to.clock.us), TICK_MS);
}

/** Takes what is new in the class. @param {string} what @param {ClassRoom} from */
export function changed(what, from) {
  if (what === "tree") tree.value = inLanguage(from.tree, language);
  else if (what === "tiles") tiles.value = { ...from.tiles };
  else if (what === "catchingUp") catchingUp.value = from.catchingUp;
  else if (what === "said") said.value = from.said;
  else if (what === "count") [count.value, shed.value] = [from.count, from.shed];
  else {
    connection.value = { state: from.connection, closed: from.closed, why: from.why, outdated: from.outdated };
    now_us.value = from.clock.us; // Until then it was not known.
  }
}

/** Does something in the class; a refusal is shown. Returns whether it was done. @param {Act} act */
export async function act(act) {
  try {
    await room?.act(act);
    refused.value = null;
    return true;
  } catch (error) {
    const { code = "", what = "", expected = "", todo = "" } = /** @type {{ code?: string, what?: string, expected?: string,
      todo?: string }} */ (error);
    if (has(`refusal.${code}`)) refused.value = { what: t(`refusal.${code}`), expected: "", todo: t(`refusal.${code}_todo`) };
    else refused.value = { what: what || String(error), expected, todo };
    return false;
  }
}

/** The learners who are in, by number. */
export const learners = () =>
  Object.entries(tree.value.people ?? {}).filter(([, person]) => person.role === "learner" && person.presence !== "left" && !person.waits);

/** Those of them who follow, as staff know them. */
export const followers = () => learners().filter(([p, person]) => person.follows && person.presence === "here" && !(p in catchingUp.value));

/** Those who wait at the door. */
export const waiting = () => Object.entries(tree.value.people ?? {}).filter(([, person]) => person.waits && person.presence !== "left");

/** A participant's name, or their number where names are hidden. @param {string} p @param {string} name */
export const shownName = (p, name) => (hidesNames.value || !name ? t("board.participant", { n: p.slice(1) }) : name);

/** Minutes and tenths since an instant. @param {number} since_us */
export const minutes = (since_us) => Math.max(0, (now_us.value - since_us) / 60e6).toFixed(1);

/** How a participant is here, in a word; who replays the class, and how far behind they are. @param {string} p @param {Person} person */
export const presenceText = (p, person) => (p in catchingUp.value ? behindText(p) : t(`board.presence.${person.presence}`));

/** That a participant replays the class, and how far behind they are. @param {string} p @param {"" | "_tile"} [form] `_tile`: short */
export function behindText(p, form = "") {
  const n = Math.floor(Math.max(0, now_us.value - catchingUp.value[p]) / 60e6);
  return n ? t(`board.catching_up${form}`, { n }) : t(`board.catching_up_soon${form}`);
}

/** Class time as 31:42. @param {number} us */
export function clockText(us) {
  const seconds = Math.max(0, Math.floor(us / 1e6));
  const hours = Math.floor(seconds / 3600);
  const rest = `${String(Math.floor(seconds / 60) % 60).padStart(hours ? 2 : 1, "0")}:${String(seconds % 60).padStart(2, "0")}`;
  return hours ? `${hours}:${rest}` : rest;
}

/** Whether staff should go there: stuck, and not quieted by "I saw it". @param {Person} person */
export const needsHelp = (person) => Boolean(person.stuck) && person.stuck !== "asks" && (person.seen_until_us ?? 0) <= now_us.value;

/** Why a participant is stuck, in words. @param {Person} person */
export function stuckText(person) {
  if (!person.stuck) return "";
  if (person.stuck === "asks") return t("board.stuck.asks", { n: minutes(person.hand?.raised_us ?? now_us.value) });
  const values = { step: person.step, n: minutes(person.stuck_us ?? now_us.value), count: person.stuck_count };
  return t(person.stuck_why === "refused" ? "board.stuck.refused" : `board.stuck.${person.stuck_why}`, values);
}

/** The order of the wall: learners who need help first, or by name. @param {[string, Person][]} people @param {"stuck" | "name"} by */
export function sorted(people, by) {
  const names = new Intl.Collator();
  /** @param {[string, Person]} a @param {[string, Person]} b */
  const byName = (a, b) => names.compare(a[1].name, b[1].name) || Number(a[0].slice(1)) - Number(b[0].slice(1));
  if (by === "name") return [...people].sort(byName);
  return [...people].sort((a, b) =>
    STUCK_ORDER.indexOf(a[1].stuck ?? "") - STUCK_ORDER.indexOf(b[1].stuck ?? "")
      || (a[1].stuck ? (a[1].stuck_us ?? 0) - (b[1].stuck_us ?? 0) : 0) || byName(a, b));
}

/** The roles that may lead. */
export const STAFF = ["instructor", "co-instructor"];

/** Whether a role asks questions and sets marks; see lab/class_rights.py. @param {string} [role] */
export const asks = (role = "") => role === "learner" || role === "observer";

/** The poll that is not over, with its number. @returns {[number, Poll] | null} */
export function currentPoll() {
  const found = Object.entries(tree.value.polls ?? {}).findLast(([, poll]) => poll.phase !== "ended");
  return found ? [Number(found[0]), found[1]] : null;
}

/**
 * An answer as people read it: the text of a choice, the name of a thing, or the value itself.
 * @param {Poll} poll
 * @param {string} answer
 */
export const answerText = (poll, answer) => (poll.form === "point" ? thingName(answer) : poll.choices[Number(answer)] ?? answer);
