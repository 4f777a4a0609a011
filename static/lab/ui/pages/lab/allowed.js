// Whose lab of the class is shown, why the visitor may not act in it, and what they can do instead.
import { ownLab } from "../../classroom/looked_at.js";
import { followed, runOf } from "../../classroom/followed.js";
import { act, joined, shownName, tree } from "../../classroom/store.js";
import { t } from "../../kit/i18n.js";
import { classroom, refuse, request } from "../../store/api.js";
import { isFollowing, isHeld, lead, leave, returnsAfterHold } from "../../store/follow.js";
import { holds, isStopped, tellReason } from "../../store/rights.js";
import { effect } from "../../store/state.js";

/** @import { Act, Person } from "../../../core/classroom/class.d.ts" */
/** @import { Reason, Way } from "../../store/rights.js" */

/** Whether the visitor is staff of the class. */
export const isStaff = () => ["instructor", "co-instructor"].includes(tree.value.mine?.role ?? "");
/** The run of this page, whichever is shown. */
const ownRun = () => runOf(ownLab);
const me = () => joined()?.you?.p ?? "";

/** The learner whose lab staff look at here. Staff may see the whole run, and the learner may be on another branch of it by now.
 * @returns {[string, Person] | null}
 */
export function lookedInto() {
  if (!isStaff()) return null;
  const run = ownRun();
  return Object.entries(tree.value.people ?? {}).find(([, one]) => runOf(one.lab) === run && one.looked_by?.includes(me())) ?? null;
}

/** Whether a lab is being made. */
let isBusy = false;

/** Starts a lab of the learner's own that continues from the instant that the presenter showed last. */
async function takeOver() {
  if (isBusy) return;
  isBusy = true;
  if (isFollowing.peek()) leave(); // It is for work alone.
  try {
    const at_us = Math.round(joined()?.clock.us ?? 0);
    location.assign((await (await request(`/api/classes/${classroom}/recording/take-over`, { at_us })).json()).href);
  } catch (error) {
    refuse(error);
    isBusy = false;
  }
}

/** What a member with labs of their own can do with a lab that the class is shown. @returns {Way[]} */
function waysOn() {
  const { role, lab } = tree.value.mine ?? {};
  if (role === "observer" || role === "projector") return [];
  return [
    ...(lab && runOf(lab) !== ownRun() && !isFollowing.value ? [{ label: t("watch.own_lab"), href: `/r/${lab}` }] : []),
    { label: t("replay.take_over"), title: t("replay.take_over_title"), run: takeOver },
  ];
}

/** A way that is an act of the class. @param {string} key of its label @param {Act} does @returns {Way} */
const way = (key, does) => ({ label: t(key), run: () => act(does) });

/** One press leaves the hold and returns to the visitor's own lab. */
async function leaveHold() {
  const returned = returnsAfterHold.peek();
  returnsAfterHold.value = true;
  if (!await act({ op: "leave_hold" })) returnsAfterHold.value = returned;
}

/** @returns {Reason} */
function following() {
  const name = lead.value?.name ?? "";
  if (isHeld.value) return { text: t("watch.held", { name }), ways: [{ label: t("watch.leave_hold"), run: leaveHold }] };
  return { text: t("watch.following", { name }), ways: [{ label: t("watch.return"), title: "F", run: leave }, ...waysOn()] };
}

/** Whether a hold stops a learner's lab, as lab/classroom/grants.py says. @param {string} p @param {Person} person */
function isHeldBack(p, person) {
  const { hold, stage } = tree.value;
  return Boolean(hold) && !person.out_of_hold && !(stage?.shown && stage.p === p);
}

/** For staff in the lab of a learner. @param {string} p @param {Person} person @returns {Reason} */
function looking(p, person) {
  const name = shownName(p, person.name);
  const help = person.help;
  if (!help) return { text: t("watch.looking", { name }), ways: [way("board.begin_help", { op: "begin_help", p })] };
  if (help.by !== me() || help.until_us) return { text: t("watch.helped", { name }) };
  const ways = [way("board.end_help", { op: "end_help", p })];
  if (isStopped.value) {
    const [key, going] = tree.value.paused ? ["watch.stopped_helping", way("board.resume_all", { op: "resume_all" })]
      : ["watch.held_helping", way("watch.release", { op: "release" })];
    return { text: t(key, { name }), ways: [going, ...ways] };
  }
  if (!holds("time")) ways.unshift(way("watch.take_wheel", { op: "take_wheel", p }));
  return { text: t(holds("time") ? "watch.helping" : "watch.helping_without_time", { name }), ways };
}

/** @returns {Reason | null} */
function why() {
  const { lead: leads, stage, mine } = tree.value;
  if (mine?.role === "observer" && followed.value) return { text: t("watch.observing", { name: followed.value.name }) };
  if (isFollowing.value) return following();
  const looked = lookedInto();
  if (looked) return looking(...looked);
  if (runOf(mine?.lab) === ownRun()) return isStopped.value ? { text: t("watch.stopped") } : null;
  const shown = runOf(leads?.lab) === ownRun() ? leads?.name : runOf(stage?.lab) === ownRun() ? stage?.name || t("board.a_learner") : "";
  return shown ? { text: t("watch.shown", { name: shown }), ways: waysOn() } : null;
}

/** Tells the page why its visitor may not act, in the terms of the class. */
export function tellWhy() {
  tellReason(why);
  effect(() => {
    const { paused, mine } = tree.value;
    const looked = lookedInto();
    const isLearners = mine?.role === "learner" ? runOf(mine.lab) === ownRun() : Boolean(looked);
    // The page of a learner who is held follows, so that nothing is available in it anyway.
    isStopped.value = Boolean(paused) && isLearners || Boolean(looked && isHeldBack(...looked));
  });
}
