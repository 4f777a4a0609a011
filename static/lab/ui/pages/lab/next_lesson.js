// The class starts another lesson: a page of the class moves to its person's lab of that lesson, and says so there; an
// observer's page moves to what the class is shown.
import { chapters } from "../../classroom/lessons.js";
import { classSlug, tree } from "../../classroom/store.js";
import { runOf } from "../../classroom/followed.js";
import { ownLab } from "../../classroom/looked_at.js";
import { short, t } from "../../kit/i18n.js";
import { notify } from "../../store/api.js";
import { exercises } from "../../store/exercises.js";
import { whoGoesOn } from "../../store/lesson.js";
import { effect } from "../../store/state.js";

/** @import { Mine } from "../../../core/classroom/class.d.ts" */

/**
 * What this tab has seen of the class: the handout of the lesson, the lab of its person then, and whether the page has just moved.
 * It outlives a page that is loaded again, and a tab that the browser had put away.
 * @typedef {{ handout: number, run: string, moved: boolean }} Seen
 */

const STAFF = ["instructor", "co-instructor"];

/** @param {string} key @returns {Seen | null} */
const seenIn = (key) => JSON.parse(sessionStorage.getItem(key) ?? "null");

/** @param {string} slug @param {boolean} hasLab whether there is a lab of it for this person */
function say(slug, hasLab) {
  const lesson = exercises.find((one) => one.slug === slug);
  notify("ok", t("class.lesson.goes_on", { title: lesson ? `${lesson.number} ${lesson.title[short]}` : slug }),
    { todo: hasLab ? t("class.lesson.kept") : "" });
}

/** The address of this page, as `nextPlace` says it. */
const HERE = "#";

/**
 * Where the page continues in a lesson that has begun: a lab in which its person works in their new one, and that of an observer where
 * the class is shown, since they may not see the earlier lab any more. Staff may look at any lab.
 * @param {Mine} mine
 * @param {Seen} seen
 * @returns {string} empty until the lab is there: it comes a moment after the lesson
 */
function nextPlace({ role, own_lab: lab }, seen) {
  const run = runOf(ownLab);
  if (role === "learner" || (STAFF.includes(role) && run === seen.run)) return !lab ? "" : runOf(lab) === run ? HERE : `/r/${lab}`;
  if (role !== "observer") return HERE;
  return runOf(tree.peek().lead?.lab) === run ? "" : `/classes/${classSlug.peek()}/watch/`;
}

let isLeaving = false;
/** This page may come back from the browser's memory. */
addEventListener("pageshow", ({ persisted }) => (isLeaving &&= !persisted));

/** The lessons of the course by chapter, for staff who choose one: this page has them without the chapters' titles. */
function listLessons() {
  /** @type {Map<string, import("../../classroom/lessons.js").Chapter>} */
  const found = new Map();
  for (const { slug, number, title } of exercises) {
    const n = number.split(".")[0];
    const chapter = found.get(n) ?? { title: t("class.lesson.chapter", { n }), lessons: [] };
    chapter.lessons.push({ slug, number, title: title[short] });
    found.set(n, chapter);
  }
  chapters.value = [...found.values()];
}

export function followLessons() {
  listLessons();
  const key = `highwater.class.${classSlug.peek()}`;
  let told = 0;
  let refused = "";
  effect(() => {
    const { class: info, mine } = tree.value;
    // What comes while the page is being left is for the next one.
    if (!info || !mine || isLeaving) return;
    whoGoesOn.value = info.ended ? "alone" : STAFF.includes(mine.role) ? "staff" : "class";
    const run = runOf(mine.own_lab) ?? "";
    const seen = seenIn(key) ?? { handout: info.handout, run, moved: false };
    if (seen.moved || (seen.handout < info.handout && told < info.handout)) say(info.chapter, seen.moved && Boolean(run));
    told = info.handout;
    if (mine.lab_refused && mine.lab_refused !== refused) {
      notify("bad", t(`class.lesson.no_lab.${mine.lab_refused}`), { todo: t("class.lesson.no_lab_todo") });
    }
    refused = mine.lab_refused;
    const to = seen.handout < info.handout ? nextPlace(mine, seen) : HERE;
    if (!to) return;
    isLeaving = to !== HERE;
    sessionStorage.setItem(key, JSON.stringify({ handout: info.handout, run: run || seen.run, moved: isLeaving }));
    if (isLeaving) location.assign(to);
  });
}
