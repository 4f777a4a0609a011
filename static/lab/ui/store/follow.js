// Following the presenter: a second, read-only player of their branch is shown, with the view that they look at.
// The page's own player keeps its place meanwhile, and is shown again, just there, when following ends.
import { t } from "../kit/i18n.js";
import { notify } from "./api.js";
import { detaches, onSteer } from "./interactions.js";
import { openPlayer } from "./players.js";
import { batch, effect, own, partition, player, selection, show, shown, signal } from "./state.js";
import { speech } from "./speech.js";
import { moveTime, showPanels, showSight, view } from "./view.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { PageView } from "../../core/player/page_view.js" */
/** @import { Player } from "../../core/player/player.js" */

/**
 * Who can be followed: a name to show, and the term in which they lead. A view of another term is dropped.
 * @typedef {{ name: string, term: number | string }} Lead
 * What the page returns to: its view, and where its drawings and its scrolled elements were.
 * @typedef {{ view: PageView, restore: () => void }} OwnPlace
 */

/** While another participant is followed, the connection to the page's own branch is closed after this time. */
const REST_MS = 30_000;

/** The presenter, null if there is none. @type {Signal<Lead | null>} */
export const lead = signal(null);
/** Whether the page shows what they look at. */
export const isFollowing = signal(false);
/** Whether the participant cannot end following. */
export const isHeld = signal(false);
/** Whether the page returns to its own branch when the hold ends: they worked alone when it began, or have left it. */
export const returnsAfterHold = signal(false);

/** The newest view of the presenter. @type {Signal<PageView | null>} */
export const ledView = signal(null);
/** The view that the page shows. @type {PageView | null} */
let applied = null;
/** @type {Player | null} */
let followed = null;
/** @type {OwnPlace | null} */
let kept = null;
/** @type {ReturnType<typeof setTimeout>} */
let resting;
/** Remembers where the drawings and the scrolled elements are; returns a function that restores them. @type {() => () => void} */
let remember = () => () => {};
/** @param {() => () => void} how */
export const setRemember = (how) => void (remember = how);

/** Sets the presenter; without one following ends. @param {Lead | null} to */
export function setLead(to) {
  if (to?.term !== lead.peek()?.term) ledView.value = null;
  lead.value = to;
  if (!to) {
    isHeld.value = false;
    leave();
  }
}

/** Takes the newest view of the presenter. @param {PageView} to @param {number | string} term */
export function led(to, term) {
  if (term !== lead.peek()?.term) return;
  ledView.value = to;
  if (isFollowing.peek()) apply();
}

/** Starts to follow the presenter; does nothing without one. */
export function follow() {
  if (!lead.peek() || isFollowing.peek()) return;
  kept = { view: view(), restore: remember() };
  resting = setTimeout(() => own.rest(), REST_MS);
  isFollowing.value = true;
  speech.say("follow", t("follow.began", { name: lead.peek()?.name }));
  apply();
}

/** Who is held follows until that ends. @param {boolean} is */
export function setHeld(is) {
  const was = isHeld.peek();
  if (is && !was) returnsAfterHold.value = !isFollowing.peek();
  isHeld.value = is;
  if (is) follow();
  else if (was && returnsAfterHold.peek()) queueMicrotask(leave);
}

/** Returns to the page's own branch, at the place that was left. */
export function leave() {
  if (!isFollowing.peek() || isHeld.peek()) return;
  clearTimeout(resting);
  const place = kept;
  batch(() => {
    isFollowing.value = false;
    if (place) showPanels(place.view);
    show(own);
  });
  own.resume();
  place?.restore();
  followed?.close();
  followed = applied = kept = null;
  const name = lead.peek()?.name;
  notify("ok", t("follow.ended"), name ? { todo: t("follow.again", { name }) } : {});
}

export const toggleFollow = () => (isFollowing.peek() ? leave() : follow());

/**
 * The page itself, not its visitor, shows another partition: one that was shown is not there any more.
 * @param {string} name
 */
export function settlePartition(name) {
  if (applied) applied = { ...applied, partition: name };
  partition.value = name;
}

/** Shows the newest view. */
function apply() {
  const to = ledView.peek();
  if (!to) return;
  const [run, branch] = to.branch.split("/");
  const before = applied;
  applied = to;
  if (followed?.run !== run || followed.branch !== branch) {
    const previous = followed;
    const opened = (followed = watch(run, branch, () => applied, leave));
    batch(() => {
      show(opened);
      showPanels(to);
    });
    previous?.close();
    showSight(to);
  } else {
    showPanels(to, before);
    showSight(to, before);
  }
  moveTime(followed, to);
}

/** Opens the branch of another participant.
 * @param {string} run
 * @param {string} branch
 * @param {() => PageView | null} wanted the view that is to be shown now
 * @param {() => void} ended the server has closed it
 */
export function watch(run, branch, wanted, ended) {
  const opened = openPlayer({ run, branch, isReadOnly: true });
  opened.subscribe(({ what }) => {
    if (what.has("connection") && opened.closed) ended();
    // The event that is to be shown was the newest when the view came, and is so no more.
    const { seq, at_us } = wanted() ?? { seq: null, at_us: null };
    if (what.has("live") && seq !== null && at_us !== null && !opened.isPast && opened.live_seq > seq) opened.seekSeq(seq, at_us);
  });
  return opened;
}

onSteer((interaction) => {
  if (!isFollowing.peek() || !detaches(interaction)) return true;
  leave();
  return false;
});

// Screen, partition and selection are changed in many places of the page; each change that is not that of a view is the visitor's.
effect(() => {
  const now = [shown.value, partition.value, selection.value];
  if (!isFollowing.peek() || !applied || player !== followed) return;
  const wanted = [applied.screen, applied.partition || now[1], applied.selection];
  if (now.some((value, i) => value !== wanted[i])) queueMicrotask(leave);
});
