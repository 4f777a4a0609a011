// The class on the page of a lab: follows the presenter, sends this page's view while its person leads, raises hands
// with the instant. Loaded only for labs of a class.
import "../../classroom/learner_panel.js";
import "../../classroom/sound/live_captions.js";
import "../../classroom/shown_mark.js";
import "../../classroom/sound/sound_mark.js";
import "./looking.js";
import { connect } from "../../classroom/connect.js";
import { speakToLearner } from "../../classroom/sound/heard.js";
import { lookedAt, ownLab, setLookedAt } from "../../classroom/looked_at.js";
import { followed, runOf } from "../../classroom/followed.js";
import { act, asks, connection, currentPoll, now_us, STAFF, tree } from "../../classroom/store.js";
import { follow, isFollowing, isHeld, leave, led, returnsAfterHold, setHeld, setLead } from "../../store/follow.js";
import { effect, isOwn, panels, player, selection, shown, sideTab, signal } from "../../store/state.js";
import { byId } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { here, notify } from "../../store/api.js";
import { classKeys, zkMessages } from "../../store/keys.js";
import { isNarrow, isTablet } from "../../store/room.js";
import { speech } from "../../store/speech.js";
import { onView, view } from "../../store/view.js";
import { tellWhy } from "./allowed.js";
import { besideStage } from "./beside.js";
import { draw } from "./drawing.js";
import { addKey } from "./keys.js";
import { followLessons } from "./next_lesson.js";
import { letPick } from "./picking.js";
import { point, showPointer } from "./pointing.js";
import { stage } from "./stage.js";

/** @import { ClassRoom } from "../../../core/classroom/class_room.js" */
/** @import { PageView } from "../../../core/player/page_view.js" */

/** Whether a participant who is held wants to work alone afterwards, also in the page of another run. @param {string} slug of the class */
const aloneKey = (slug) => `highwater.alone.${slug}`;

/** @param {string} slug of the class */
export function enterClass(slug) {
  const room = connect(slug, "lab", (frame) => {
    if (frame.k === "view") take(frame);
    else if (frame.k === "point" && !followed.peek()?.isStage) // It points at things of the presenter's lab.
      showPointer(isFollowing.peek() ? stage.peek() : besideStage.peek(), tree.peek().lead?.name ?? "", frame);
  });
  setLookedAt(() => ({
    lab: `${here.run}/${here.branch}`, seq: player.seq, at_us: Math.round(player.at_us), selection: selection.peek(), screen: shown.peek(),
  }));
  tellWhy();
  followLessons();
  followLead(aloneKey(slug));
  tellView(room);
  point(room, () => tree.peek().lead?.p === room.you?.p);
  draw(() => tree.value.lead?.p === room.you?.p);
  letPick();
  openPanelForAnswers();
  showArrivals();
  speakToLearner(speech);
  addKey("j", () => void raiseHand());
  addKey("q", ask);
  effect(() => {
    const { role = "" } = tree.value.mine ?? {};
    classKeys.value = { asks: asks(role), hand: role === "learner", leads: STAFF.includes(role) };
  });
  forgetWhenClosed();
}

/** Clears the class from the page and says why when its connection is closed for good, for example because the person was removed. */
function forgetWhenClosed() {
  effect(() => {
    const { state, closed, outdated } = connection.value;
    if (!closed || state === "open" || outdated) return; // The reason comes with the end.
    tree.value = {};
    notify("bad", t("board.closed", { why: closed }));
  });
}

/** Raises the hand with the instant shown, or lowers it. */
function raiseHand() {
  const at = lookedAt();
  return tree.peek().mine?.hand_us ? act({ op: "lower_hand" }) : at && act({ op: "raise_hand", at });
}

/** Begins a question with the instant shown; staff, who ask nothing, have what the key does in other labs. */
function ask() {
  if (!asks(tree.peek().mine?.role)) return void (zkMessages.value = !zkMessages.peek());
  showPanel();
  // The panel may not have been drawn yet.
  requestAnimationFrame(() => void /** @type {any} */ (document.querySelector("hw-class-panel"))?.askNow());
  return undefined;
}

/** Opens the panel of the class. */
function showPanel() {
  sideTab.value = "class";
  panels.value = { ...panels.peek(), side: true };
  // A phone has the panel in its one column, somewhere above or below what is in sight.
  if (isNarrow.peek() && !isTablet.peek()) requestAnimationFrame(() => byId("side").scrollIntoView({ block: "nearest" }));
}

/**
 * Takes a view of whom this page follows. Also called for labs that staff look at.
 * @param {{ view: PageView, p: string, term: number, stage?: string }} frame `stage`: the lab, if it is on stage
 */
function take({ view, p, term, stage: onStage }) {
  const from = followed.peek();
  if (!from) return;
  if (from.isStage ? onStage === from.lab : !onStage && p === tree.peek().lead?.p) led(view, from.isStage ? from.term : term);
}

/** The newest instant of a lab, shown until its owner's page has sent a view. @param {string} lab @returns {PageView} */
const newestOf = (lab) => ({
  ...view(), branch: lab, seq: null, at_us: null, screen: "picture", partition: "", selection: "", ranges: {}, window: null, disk: null,
  group: "", overlay: "",
});

/** @param {string} kept where it is kept that the participant works alone after a hold */
function followLead(kept) {
  /** @type {number | string} */
  let term = 0;
  effect(() => {
    const { view: leadView, hold, mine } = tree.value;
    const from = followed.value;
    if ((from?.term ?? 0) !== term) {
      term = from?.term ?? 0;
      setLead(from && { name: from.name, term });
      if (from) led(newestOf(from.lab), term);
      // Who works alone goes on so when the presenter goes on in another lab, and in a page that is opened or loaded again.
      if (from && mine?.follows !== false) follow();
    }
    if (leadView && from && !from.isStage) led(/** @type {PageView} */ (/** @type {unknown} */ (leadView)), term);
    setHeld(Boolean(hold) && !mine?.out_of_hold && Boolean(from));
    if (!mine) return;
    if (!isHeld.peek()) sessionStorage.removeItem(kept);
    else if (sessionStorage.getItem(kept)) returnsAfterHold.value = true;
  });
  // A state of the class is taken for work alone; the page of the new run returns to it after a hold.
  addEventListener("hw-works-alone", () => {
    if (isHeld.peek()) sessionStorage.setItem(kept, "held");
    else if (isFollowing.peek()) leave();
  });
  // Sends whether this page follows, only after a change and only while another person is followed.
  let told = false;
  effect(() => {
    const follows = isFollowing.value;
    // A hold does not change whether they work alone.
    if (follows === told || !followed.peek() || isHeld.peek() && returnsAfterHold.peek()) return;
    told = follows;
    void act({ op: follows ? "rejoin" : "detach" });
  });
}

/** Sends this page's view while its lab is shown by its person, is on stage or is being looked at. @param {ClassRoom} room */
function tellView(room) {
  // A new watcher also needs the current view.
  const watchers = signal("");
  effect(() => {
    const { lead, mine, stage: onStage } = tree.value;
    /** @param {string} [of] */
    const isHere = (of) => runOf(of) === runOf(ownLab);
    watchers.value = connection.value.state !== "open" ? "" : [
      lead?.p === room.you?.p && isHere(lead?.lab) && `class ${lead?.term}`,
      mine?.on_stage && isHere(onStage?.lab) && "stage",
      ...(mine && isHere(mine.lab) ? mine.looked_by : []),
    ].filter(Boolean).join();
  });
  /** @type {() => void} */
  let stop = () => {};
  effect(() => {
    stop();
    stop = () => {};
    if (watchers.value) stop = onView((now) => isOwn.peek() && room.send({ k: "view", view: now, term: tree.peek().lead?.term ?? 0 }));
  });
}

/** Opens the panel of the class for what waits for an answer: a poll, an invitation to the stage, what becomes of help; and at its end. */
function openPanelForAnswers() {
  /** @type {string | null} */
  let asked = null;
  const isDue = signal(false);
  effect(() => {
    const [number, poll] = currentPoll() ?? [0, null];
    const { mine, class: info } = tree.value;
    if (!mine) return;
    const { stage_until_us, help } = mine;
    const asks = [poll?.phase === "open" && `poll ${number}`, stage_until_us && "stage", help?.until_us && "help", info?.ended && "ended"]
      .filter(Boolean);
    asked ??= info?.ended ? "ended" : ""; // It had ended before.
    if (asks.some((one) => !asked?.split(",").includes(String(one)))) {
      isDue.value = true;
      if (isFilling()) notify("warn", t("board.mine.something_new"), { todo: t("board.mine.in_class") });
    }
    if (!asks.length) isDue.value = false;
    asked = asks.join();
  });
  effect(() => {
    void now_us.value;
    if (!isDue.value || isFilling()) return;
    isDue.value = false;
    showPanel();
  });
}

/** Whether the visitor writes in another panel: its text would be lost, and what they type would be keys of the page. */
const isFilling = () => sideTab.peek() !== "class"
  && Boolean(document.activeElement?.matches("#side-panel :is(textarea, input:not([type=radio], [type=checkbox], [type=range]))"));

/** Says once what has come for this person, in sight unless the panel of the class is shown: a state to continue from, a note. */
function showArrivals() {
  /** @type {{ states: number, notes: number } | null} */
  let before = null;
  effect(() => {
    const { mine, handouts = {} } = tree.value;
    if (!mine) return;
    const now = { states: mine.role === "learner" ? Object.keys(handouts).length : 0, notes: Object.values(mine.notes).length };
    const isSeen = sideTab.peek() === "class" && panels.peek().side;
    /** @param {string} id */
    const tell = (id) => (isSeen ? speech.say(id, t(id)) : notify("ok", t(id), { todo: t("board.mine.in_class") }));
    if (before && now.states > before.states) tell("board.mine.state_came");
    if (before && now.notes > before.notes) tell("heard.note");
    before = now;
  });
}
