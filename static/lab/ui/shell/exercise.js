// The exercise panel: steps with their checks, a prediction that is asked before it is shown, hints, debrief.
import { classroom, refuse } from "../store/api.js";
import { ended, offerLine, runLine } from "../store/console.js";
import { exercises } from "../store/exercises.js";
import { HwElement, html, icon, nothing } from "../kit/element.js";
import { closest } from "../kit/events.js";
import { instant, spaced } from "../kit/format.js";
import { short, t } from "../kit/i18n.js";
import { effect, exercise, exerciseEnded, moment, own, partition, signal } from "../store/state.js";
import { mayAnswer } from "../store/rights.js";
import { inProgress, nextHint, openedSteps, send, textOf } from "../store/lesson.js";
import { playedLine, showSolution, stopSolution } from "../store/solution.js";
import { seek } from "../store/time.js";
import { BLANK, markdown } from "../kit/words.js";
import { debriefOf } from "./debrief.js";
import { answerOf, predictionOf } from "./questions.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Exercise, Texts } from "../store/exercises.js" */
/** @import { ExerciseFrame, StepFrame } from "../store/state.js" */

const still = matchMedia("(prefers-reduced-motion: reduce)");
const narrow = matchMedia("(max-width: 820px)");
/** The page's description of its run. @type {DOMStringMap} */
const page = document.getElementById("lab")?.dataset ?? {};
const other = short === "en" ? "zh" : "en";
const otherLang = short === "en" ? "zh-CN" : "en";

/**
 * Whether it needs another run: this one has another era or another cluster, or holds the topic of an earlier attempt, which is in the way.
 * @param {Exercise} one
 */
const isElsewhere = ({ era, is_once, has_own_cluster, partition: about }) =>
  has_own_cluster || era !== page.era || (is_once && about.replace(/-\d+$/, "") in moment.value.view.topics);

/** Begins it: here, or in a new run. @param {Exercise} one */
export async function start(one) {
  const { slug, partition: about } = one;
  if (isElsewhere(one)) {
    leaveFor(slug);
    return;
  }
  if (!mayAnswer()) return;
  try {
    await own.exercise("start", { exercise: slug });
  } catch (error) {
    refuse(error);
    return;
  }
  partition.value = about;
}

let isLeaving = false;
/** This page may come back from the browser's memory. */
addEventListener("pageshow", () => (isLeaving = false));

/** A new run, whose page begins with the exercise; a second press makes no second one. @param {string} slug */
function leaveFor(slug) {
  if (isLeaving) return;
  isLeaving = true;
  const form = Object.assign(document.createElement("form"), { method: "post", action: `/course/${slug}/start`, hidden: true });
  // In a class the lesson begins again in the class.
  const values = { csrfmiddlewaretoken: page.csrf, ...(classroom ? { run: page.run } : {}) };
  for (const [name, value] of Object.entries(values)) form.append(Object.assign(document.createElement("input"), { name, value }));
  document.body.append(form);
  form.submit();
}

/** The lessons that were finished. @type {Signal<Set<string>>} */
const finished = signal(new Set(exercises.filter(({ is_finished: isFinished }) => isFinished).map(({ slug }) => slug)));
effect(() => {
  const { slug = "", finished: isFinished = false } = exercise.value ?? {};
  if (isFinished && !finished.peek().has(slug)) finished.value = new Set([...finished.peek(), slug]);
});
effect(() => {
  if (exerciseEnded.value) finished.value = new Set();
});

/** The commands that were pressed, one after the other. */
let pressed = Promise.resolve();

/**
 * Runs the command that is pressed; with Shift, and with a part to fill in, it is put into the console instead.
 * @param {MouseEvent} event
 */
function takeLine(event) {
  const button = closest(event, "button.code-line");
  if (!button || event.detail > 1) return; // A double click runs it once.
  const line = button.textContent.trim();
  if (event.shiftKey || BLANK.test(line)) {
    offerLine(line);
    return;
  }
  button.dataset.ran = "waits";
  pressed = pressed.then(() => runPressed(button, line));
}

/** Those after a `sleep` or a `wait` in a text are meant for after it. @param {HTMLElement} button @param {string} line */
async function runPressed(button, line) {
  if (!button.isConnected) return; // Its lesson was left or begun again.
  const command = await runLine(line);
  button.dataset.ran = command === null ? "refused" : "ran";
  if (command !== null && /^(sleep|wait) /.test(line)) await ended(command, button);
}

/** @param {Texts} texts @param {string} [address] of the page that the title leads to */
const title = (texts, address) => html`<h2>${address ? html`<a href=${address}>${texts[short]}</a>` : texts[short]}</h2>
  <div class="other" lang=${otherLang}>${texts[other]}</div>`;
/** @param {number} count */
const minutes = (count) => (count ? t("exercise.minutes", { n: count }) : "");

const STATE_CLASS = { done: { step: "done", bar: "d" }, active: { step: "now", bar: "n" }, open: { step: "", bar: "" } };

class HwExercise extends HwElement {
  #sure = signal("");
  /** Steps that are done and whose mark was pressed: the last one is shown in full, the others show their first lines, else the
   * other way round. @type {Signal<Set<string>>} */
  #opened = signal(new Set());
  #active = "";

  updated() {
    const active = openedSteps().find(({ state }) => state === "active")?.id ?? (exercise.value?.finished ? "end" : "");
    if (active === this.#active) return;
    this.#active = active;
    // A debrief is longer than a phone's window: its beginning comes into view, below the bars that stay in place.
    const block = active === "end" && narrow.matches ? "start" : "nearest";
    this.querySelector(".step.now, .debrief")?.scrollIntoView({ block, behavior: still.matches ? "auto" : "smooth" });
  }

  /** Whether a step is shown in full. @param {StepFrame} step */
  #isFull({ id, state }) {
    const last = openedSteps().filter((one) => one.state === "done").at(-1)?.id;
    return state !== "done" || (id === last) !== this.#opened.value.has(id);
  }

  /** @param {string} id */
  #toggle(id) {
    const opened = new Set(this.#opened.value);
    if (!opened.delete(id)) opened.add(id);
    this.#opened.value = opened;
  }

  /** Sends when it is pressed a second time. @param {"reset" | "leave"} op */
  #twice(op) {
    const isEnded = op === "leave" && exercise.value?.finished; // There is nothing to lose.
    if (this.#sure.value === op || isEnded) {
      const lesson = inProgress();
      // Brokers may be down and links cut: a new run has neither. In a class the lab is kept where the set-up can be run again.
      if (op === "reset" && lesson && (lesson.is_once || !classroom)) leaveFor(lesson.slug);
      else send(op);
    }
    this.#sure.value = this.#sure.value === op || isEnded ? "" : op;
  }

  /** An exercise of the list. `isNext`: the first that was not finished. @param {Exercise} one @param {boolean} isNext */
  card(one, isNext) {
    const { number, minutes: long, title: texts } = one;
    const done = finished.value.has(one.slug);
    const elsewhere = isElsewhere(one);
    const begin = t(elsewhere ? "exercise.start_elsewhere" : done ? "exercise.again" : "exercise.start");
    return html`<article class="ex-card ${isNext ? "next" : ""}">
      <div class="cap"><span>${t("exercise.number", { n: number })}</span>
        ${elsewhere ? html`<span class="tag" title=${t("exercise.era_said", { era: one.era })}>${t("runs.of_era",
          { era: one.era })}</span>` : ""}
        <span class="right">${done ? html`<span class="tag ok">✓ ${t("exercise.finished")}</span>` : minutes(long)}</span></div>
      ${title(texts, `/course/${one.slug}/`)}
      <button class="btn ${isNext ? "pri" : ""}" data-takes=${elsewhere ? nothing : "answer"} aria-label="${begin}: ${texts[short]}"
        @click=${() => start(one)}>${begin}</button>
    </article>`;
  }

  list() {
    const next = exercises.find(({ slug }) => !finished.value.has(slug));
    return html`<div class="ex-list">
      ${exerciseEnded.value ? html`<p class="wrong restarted" role="status">${t("exercise.ended_deleted")}</p>` : ""}
      <p class="dim">${t("exercise.choose")} <a class="link" href="/">${t("exercise.course")}</a></p>
      ${exercises.map((one) => this.card(one,
      one === next))}</div>`;
  }

  // --- steps -------------------------------------------------------------------------------------------------------

  /** @param {StepFrame} step @param {number} place */
  mark(step, place) {
    if (step.state !== "done") return html`<span class="n">${place + 1}</span>`;
    return html`<button class="n" aria-label=${t("exercise.step_n", { n: place + 1 })} aria-expanded=${this.#isFull(step)}
      @click=${() => this.#toggle(step.id)}>✓</button>`;
  }

  /** @param {StepFrame} step @param {number} place */
  step(step, place) {
    const { kind, checked, state, why_not, wrong, freeze, skipped } = step;
    const isFull = this.#isFull(step);
    const names = [STATE_CLASS[state].step, isFull ? "full" : ""];
    return html`<li class="step ${names.join(" ")}" aria-current=${state === "active" ? "step" : "false"}>
      ${this.mark(step, place)}
      <div class="prose" @click=${() => state === "done" && !isFull && this.#toggle(step.id)}>${markdown(textOf(step), { runs: true })}
        ${checked ? html`<button class="ev mono" title=${t("exercise.go_there")} @click=${() => seek(checked.at_us)}>
          ${instant(checked.at_us)} · ${checked.detail}</button>` : ""}
        ${freeze ? html`<div class="freeze">${icon("pause")}<div>${markdown(freeze.text)}
          <button class="ev mono" title=${t("exercise.go_there")} @click=${() => seek(freeze.at_us)}>${instant(freeze.at_us)}</button>
        </div></div>` : ""}
        ${kind === "prediction" ? predictionOf(step) : kind === "answer" ? answerOf(step) : ""}
        ${wrong ? html`<div class="wrong">${markdown(wrong)}</div>` : ""}
        ${state === "active" && why_not && kind === "goals" ? html`<p class="why-not">${why_not}</p>` : ""}
        ${skipped && kind === "goals" ? html`<p class="skipped">${t("exercise.skipped")}</p>` : ""}
        ${state === "active" ? this.help(step) : ""}
      </div></li>`;
  }

  /** What helps on without doing the step. @param {StepFrame} step */
  help({ id }) {
    const line = playedLine.value;
    if (line !== null) return html`<div class="help" role="status"><code>${line}</code>
      <button class="btn small" @click=${stopSolution}>${t("exercise.stop")}</button></div>`;
    return html`<div class="help">
      <button class="btn small" data-takes="live" title=${t("exercise.show_title")} @click=${showSolution}>${t("exercise.show")}</button>
      <button class="btn small" data-takes="answer" title=${t("exercise.skip_title")} @click=${() => send("skip", { step: id })}>${
        t("exercise.skip")}</button>
    </div>`;
  }

  /** The part that begins with a step, as a heading. @param {StepFrame} step */
  partHead({ part }) {
    return part ? html`<li class="part">${t("exercise.part", { n: part.number })} · ${part.title}
      <span class="right">${minutes(part.minutes)}</span></li>` : "";
  }

  /** The steps that have opened; of the others the page knows only how many they are. @param {ExerciseFrame} frame */
  steps({ steps }) {
    const shown = openedSteps();
    const more = steps.length - shown.length;
    return html`<ol class="steps">${shown.map((step, place) => [this.partHead(step), this.step(step, place)])}
      ${more ? html`<li class="step behind"><span class="n" aria-hidden="true">…</span>
        <div class="prose dim">${t("exercise.more_steps", { n: more })}</div></li>` : ""}</ol>`;
  }

  /** @param {Exercise} texts @param {ExerciseFrame} frame */
  head({ number, minutes: long, title: texts }, { steps, finished }) {
    const done = steps.filter(({ state }) => state === "done").length;
    const at = steps.findIndex(({ state }) => state === "active") + 1 || steps.length;
    const where = finished ? t("exercise.finished") : t("exercise.step_of", { at, n: steps.length });
    return html`<div class="ex-h">
      <div class="cap"><span>${t("exercise.number", { n: number })}</span>
        <span class="right">${[where, finished ? "" : minutes(long)].filter(Boolean).join(" · ")}</span></div>
      ${title(texts)}
      <div class="bar" role="progressbar" aria-valuemin="0" aria-valuenow=${done} aria-valuemax=${steps.length}
        aria-label=${t("exercise.progress", { done, n: steps.length })}>
        ${steps.map(({ state }) => html`<i class=${STATE_CLASS[state].bar}></i>`)}</div>
    </div>`;
  }

  /** @param {ExerciseFrame} frame */
  hints({ hints, hints_in_all: n, finished }) {
    const shown = hints.map((hint, place) => html`<div class="hint shown">${icon("bulb")}
      <div class="prose"><b>${t("exercise.hint_n", { n: place + 1 })}</b>${markdown(hint, { runs: true })}</div></div>`);
    if (finished || hints.length >= n) return shown;
    return html`${shown}<button class="hint" data-takes="answer" @click=${nextHint}>${icon("bulb")}
      <span>${t("exercise.hint_of", { at: hints.length + 1, n })}</span><kbd>H</kbd></button>`;
  }

  render() {
    const frame = exercise.value;
    const lesson = inProgress();
    if (!moment.value.seq && page.lesson) return html`<p class="dim opening">${t("empty.loading")}</p>`;
    if (!lesson || !frame) return this.list();
    const begun = frame.steps.some(({ state }) => state === "done");
    return html`${this.head(lesson, frame)}
      <div class="ex-b" tabindex="0" @click=${takeLine}>
        ${frame.restarted ? html`<p class="wrong restarted">${t("exercise.restarted")}</p>` : ""}
        <details class="brief prose" ?open=${!begun}><summary>${t("exercise.about")}</summary>${markdown(frame.brief)}
          ${lesson.has_terms ? html`<p><a class="link" href="/course/${lesson.slug}/#terms" target="_blank">${
            t("exercise.terms")}</a></p>` : ""}</details>
        ${this.steps(frame)}
        ${frame.waits ? html`<p class="dim">${t("exercise.waits")}</p>` : ""}
        ${frame.debrief ? html`<div class="concept prose">
          <div class="cap">${t("exercise.concept")}</div>${markdown(frame.debrief.concept)}</div>` : ""}
        ${this.hints(frame)}
        ${frame.debrief ? debriefOf(lesson, frame.debrief, leaveFor) : ""}
      </div>
      <div class="ex-f"><span>${t("transport.event", { n: spaced(moment.value.seq) })}</span><span class="spacer"></span>
        ${/** @type {const} */ (["reset", "leave"]).map((op) => html`<button class="btn small" data-takes="answer"
          @click=${() => this.#twice(op)}>
          ${t(this.#sure.value === op ? `exercise.sure_${op}` : `exercise.${op}`)}</button>`)}
      </div>`;
  }
}
customElements.define("hw-exercise", HwExercise);
