// The class on the page of a lab: follows the presenter, sends this page's view while its person leads, raises hands
// with the instant. Loaded only for labs of a class.
import "../../classroom/learner_panel.js";
import "../../classroom/live_captions.js";
import "../../classroom/sound_mark.js";
import "./looking.js";
import { connect } from "../../classroom/connect.js";
import { speakToLearner } from "../../classroom/heard.js";
import { lookedAt, setLookedAt } from "../../classroom/looked_at.js";
import { act, currentPoll, tree } from "../../classroom/store.js";
import { follow, isFollowing, isHeld, led, setLead } from "../../store/follow.js";
import { effect, isOwn, player, selection, shown, sideTab, signal } from "../../store/state.js";
import { here } from "../../store/api.js";
import { speech } from "../../store/speech.js";
import { onView } from "../../store/view.js";
import { besideStage } from "./beside.js";
import { draw } from "./drawing.js";
import { addKey } from "./keys.js";
import { point, showPointer } from "./pointing.js";
import { stage } from "./stage.js";

/** @import { ClassRoom } from "../../../core/classroom/class_room.js" */
/** @import { PageView } from "../../../core/player/page_view.js" */

const lab = `${here.run}/${here.branch}`;

/** @param {string} slug of the class */
export function enterClass(slug) {
  const room = connect(slug, "lab", (frame) => {
    if (frame.k === "view") led(frame.view, frame.term);
    else if (frame.k === "point") showPointer(isFollowing.peek() ? stage.peek() : besideStage.peek(), tree.peek().lead?.name ?? "", frame);
  });
  setLookedAt(() => ({ lab, seq: player.seq, at_us: Math.round(player.at_us), selection: selection.peek(), screen: shown.peek() }));
  followLead(room);
  tellView(room);
  point(room, () => tree.peek().lead?.p === room.you?.p);
  draw(() => tree.value.lead?.p === room.you?.p);
  openPanelForPolls();
  speakToLearner(speech);
  addKey("j", () => void raiseHand());
}

/** Raises the hand with the instant shown, or lowers it. */
function raiseHand() {
  const at = lookedAt();
  return tree.peek().mine?.hand_us ? act({ op: "lower_hand" }) : at && act({ op: "raise_hand", at });
}

/** @param {ClassRoom} room */
function followLead(room) {
  let term = 0;
  const me = () => room.you?.p ?? "";
  effect(() => {
    const { lead, view, hold, mine } = tree.value;
    const isOthers = lead && lead.p !== me();
    if ((lead?.term ?? 0) !== term) {
      term = lead?.term ?? 0;
      setLead(isOthers ? { name: lead.name, term } : null);
      if (isOthers) follow();
    }
    if (view && isOthers) led(/** @type {PageView} */ (/** @type {unknown} */ (view)), term);
    isHeld.value = Boolean(hold) && !mine?.out_of_hold && Boolean(isOthers);
    if (isHeld.value) follow();
  });
  // Sends whether this page follows, only after a change and only while another person leads.
  let told = false;
  effect(() => {
    const follows = isFollowing.value;
    if (follows === told || !tree.peek().lead) return;
    told = follows;
    void act({ op: follows ? "rejoin" : "detach" });
  });
}

/** Sends this page's view while its person leads, is on stage or is being looked at. @param {ClassRoom} room */
function tellView(room) {
  const isWatched = signal(false);
  effect(() => {
    const { lead, mine } = tree.value;
    isWatched.value = Boolean((lead && lead.p === room.you?.p) || mine?.on_stage || mine?.looked_by.length);
  });
  /** @type {() => void} */
  let stop = () => {};
  effect(() => {
    stop();
    stop = () => {};
    if (isWatched.value) stop = onView((view) => isOwn.peek() && room.send({ k: "view", view, term: tree.peek().lead?.term ?? 0 }));
  });
}

function openPanelForPolls() {
  let opened = 0;
  effect(() => {
    const current = currentPoll();
    const [number, poll] = current ?? [0, null];
    if (poll?.phase === "open" && number !== opened) {
      opened = number;
      sideTab.value = "class";
    }
  });
}
