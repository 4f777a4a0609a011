// What the page shows, as one value that can be read, sent and shown again.
import { sameSight } from "../../core/player/page_view.js";
import { here, overlay } from "./api.js";
import { place } from "./disk.js";
import { chosen } from "./groups.js";
import { batch, consoleOpen, effect, front, onShown, partition, player, selection, shown, signal, tab } from "./state.js";

/** @import { PageView } from "../../core/player/page_view.js" */
/** @import { Player } from "../../core/player/player.js" */
/** @import { Overlay } from "./api.js" */
/** @import { FullPlace } from "./disk.js" */

/**
 * The drawings, as far as the view is concerned: see draw/stage.js.
 * @typedef {Pick<PageView, "ranges" | "window">} Sight
 * @typedef {{ sight: () => Sight, showSight: (sight: Sight, most: string) => void }} Picture
 */

/** Minimum interval between two views that are sent. */
const SENT_MS = 100;
/** From a change to its view: changes made together are sent together. */
const SETTLED_MS = 10;
/** How far a played instant may be off before the picture jumps, milliseconds of wall time. */
const DRIFT_MS = 300;

/** @type {Picture | null} */
let picture = null;
/** The drawings that the page has now. @param {Picture} to */
export const setPicture = (to) => void (picture = to);
/** Counts manual scrolls: the address names the offsets in sight from then on. */
export const panned = signal(0);
/** Counts how often something else has come into sight, which is known when it has been drawn. */
export const sighted = signal(0);

/** What the page shows. @returns {PageView} */
export function view() {
  const { isPast, seq, at_us, mode, rate } = player;
  const { ranges, window } = picture?.sight() ?? { ranges: {}, window: null };
  const { broker, path, mode: as, at, find } = place.peek();
  return {
    branch: `${here.run}/${here.branch}`,
    seq: isPast ? seq : null,
    at_us: isPast ? Math.round(at_us) : null,
    mode,
    rate,
    screen: shown.peek(),
    partition: partition.peek(),
    selection: selection.peek(),
    ranges,
    window: mode === "pause" ? window : null,
    disk: shown.peek() === "disk" ? { broker, path, mode: as, at, find } : null,
    group: chosen.peek(),
    tab: tab.peek(),
    console: consoleOpen.peek(),
    overlay: overlay.peek()?.kind ?? "",
  };
}

/**
 * Applies a view, except for its branch, its instant and what is scrolled into view. Settings of panels are applied only where they differ
 * from the view before, so that a visitor's own choice of a tab is kept.
 * @param {PageView} to
 * @param {PageView | null} [before]
 */
export function showPanels(to, before = null) {
  batch(() => {
    shown.value = to.screen;
    partition.value = to.partition;
    selection.value = to.selection;
    chosen.value = to.group;
    if (to.disk) place.value = /** @type {FullPlace} */ ({ ...to.disk, from: null });
    if (to.tab !== before?.tab) tab.value = to.tab;
    if (to.console !== (before?.console ?? null)) consoleOpen.value = to.console;
    if (to.overlay !== (before?.overlay ?? ""))
      overlay.value = to.overlay ? { kind: /** @type {Overlay["kind"]} */ (to.overlay) } : null;
  });
}

/** Brings into sight what a view has in sight. @param {PageView} to @param {PageView | null} [before] the one that is in sight now */
export function showSight(to, before = null) {
  if (!sameSight(before, to)) picture?.showSight(to, to.partition);
}

/** Moves a player's time to that of a view. @param {Player} mover @param {PageView} to */
export function moveTime(mover, { seq, at_us, mode, rate }) {
  if (seq === null || at_us === null) {
    mover.goLive();
    return;
  }
  const drift_ms = Math.abs(mover.at_us - at_us) / 1000 / rate;
  const isThere = mover.isPast && (mode === "pause" ? mover.seq === seq && mover.at_us === at_us : drift_ms < DRIFT_MS);
  if (!isThere) mover.seekSeq(seq, at_us);
  if (!mover.isPast) return; // its newest event is that one
  if (mover.rate !== rate) mover.setRate(rate);
  if (mover.mode === mode) return;
  if (mode === "pause") mover.pause();
  else if (mode === "play") mover.play();
  else mover.eventPaced();
}

/** Sends what the page shows whenever that changes, ten times a second at most.
 * @param {(view: PageView) => void} send
 * @returns {() => void} ends it
 */
export function onView(send) {
  let sent = "";
  /** @type {ReturnType<typeof setTimeout> | 0} */
  let timer = 0;
  let sent_ms = -Infinity;
  const look = () => {
    timer = 0;
    const now = view();
    const text = JSON.stringify(now);
    if (text === sent) return;
    send(now);
    [sent, sent_ms] = [text, performance.now()];
  };
  const soon = () => void (timer ||= setTimeout(look, Math.max(SETTLED_MS, sent_ms + SENT_MS - performance.now())));
  const ends = [
    effect(() => {
      void [front.value, shown.value, partition.value, selection.value, chosen.value, place.value, tab.value, consoleOpen.value,
        overlay.value, sighted.value];
      soon();
    }),
    onShown(soon),
  ];
  return () => {
    clearTimeout(timer);
    for (const end of ends) end();
  };
}
