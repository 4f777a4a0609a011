// The exercise panel: steps with their checks, a prediction that is asked before it is shown, hints, debrief.
import { refuse } from "../store/api.js";
import { offerLine } from "../store/console.js";
import { exercises } from "../store/exercises.js";
import { HwElement, html, icon } from "../kit/element.js";
import { nextChoice } from "../kit/choices.js";
import { closest } from "../kit/events.js";
import { instant, spaced } from "../kit/format.js";
import { isListOfStrings, keep, kept } from "../kit/kept.js";
import { short, t } from "../kit/i18n.js";
import { effect, exercise, moment, partition, player, signal } from "../store/state.js";
import { seek, stepRpc } from "../store/time.js";
import { markdown } from "../kit/words.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Choice, Exercise, Prediction, StepTexts, Texts } from "../store/exercises.js" */
/** @import { ExerciseFrame, StepFrame } from "../store/state.js" */

/** @typedef {{ step: string, value: string, confidence: number }} Chosen */

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** What the page says of its run. @type {DOMStringMap} */
const page = document.getElementById("lab")?.dataset ?? {};
const other = short === "en" ? "zh" : "en";
const otherLang = short === "en" ? "zh-CN" : "en";

const UNDECIDED = { step: "", value: "", confidence: 0 };
const STOPS = [0.5, 0.7, 0.9, 0.99];
/** How sure one can be with that many choices, from a guess on. @param {number} choices */
const stopsOf = (choices) => [1 / choices, ...STOPS.filter((stop) => stop > 1 / choices + 1e-6)];
/** What is chosen but not locked in yet. */
const choice = signal(UNDECIDED);

/** Choices in the order of their names. @param {Choice[]} choices @param {string[]} order */
const inOrder = (choices, order) => order.flatMap((name) => choices.filter(({ value }) => value === name));
/** The texts of the exercise that is in progress. */
const content = () => exercises.find(({ slug }) => slug === exercise.value?.slug);
/** The texts of a step of it. @param {{ id: string }} step */
const contentOf = (step) => content()?.steps.find(({ id }) => id === step.id);
/** The place of the first question that is not answered, -1 if none is left. The steps after it would reveal the answer. */
const firstQuestion = () => exercise.value?.steps.findIndex((step) => contentOf(step)?.prediction && !step.prediction) ?? -1;
/** The step whose prediction is asked now. */
const askedStep = () =>
  exercise.value?.steps.find((step) => step.state === "active" && !step.prediction && contentOf(step)?.prediction);

/** @param {string} op @param {object} [more] */
const send = (op, more = {}) => player.exercise(op, { exercise: exercise.value?.slug, ...more }).catch(refuse);

/** Whether it needs another run: this one is of another era, or cannot delete the topic of an earlier attempt. @param {Exercise} one */
const isElsewhere = ({ era, is_once, partition: about }) => era !== page.era || (is_once && about in moment.value.view.partitions);

/** Begins it: here, or in a new run. @param {Exercise} one */
export async function start(one) {
  const { slug, partition: about } = one;
  if (isElsewhere(one)) return leaveFor(slug);
  try {
    await player.exercise("start", { exercise: slug });
  } catch (error) {
    return refuse(error);
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
  form.append(Object.assign(document.createElement("input"), { name: "csrfmiddlewaretoken", value: page.csrf }));
  document.body.append(form);
  form.submit();
}

const FINISHED = "highwater.finished";
/** The exercises that were finished in this browser. */
const finished = signal(new Set(kept(FINISHED, isListOfStrings, [])));
effect(() => {
  const { slug = "", finished: isFinished = false } = exercise.value ?? {};
  if (!isFinished || finished.peek().has(slug)) return;
  finished.value = new Set([...finished.peek(), slug]);
  keep(FINISHED, [...finished.value]);
});

/** The next hint, if there is one. */
export function nextHint() {
  const [texts, frame] = [content(), exercise.value];
  if (texts && frame && frame.hints_shown < texts.hints.length) send("hint");
}

/** Is an answer chosen that could be locked in? Then Enter does that before it steps. */
export const canLockIn = () =>
  Boolean(choice.value.value) && choice.value.confidence > 0 && askedStep()?.id === choice.value.step;

export async function lockIn() {
  const { step, value, confidence } = choice.value;
  const steps = contentOf({ id: step })?.prediction?.steps;
  await send("predict", { step, choice: value, confidence });
  choice.value = UNDECIDED;
  if (steps) await stepRpc();
}

/** Puts a line of code that is pressed into the console. @param {Event} event */
function takeLine(event) {
  const line = closest(event, ".code-line");
  if (line) offerLine(line.textContent.trim());
}

/** @param {Texts} texts @param {string} [address] of the page that the title leads to */
const title = (texts, address) => html`<h2>${address ? html`<a href=${address}>${texts[short]}</a>` : texts[short]}</h2>
  <div class="other" lang=${otherLang}>${texts[other]}</div>`;
/** @param {number} count */
const minutes = (count) => (count ? t("exercise.minutes", { n: count }) : "");

const STATE_CLASS = { done: { step: "done", bar: "d" }, active: { step: "now", bar: "n" }, open: { step: "", bar: "" } };

class HwExercise extends HwElement {
  #sure = signal("");
  /** Steps that are done and are shown in full; the others show their first lines only. @type {Signal<Set<string>>} */
  #opened = signal(new Set());
  #active = "";

  updated() {
    const active = exercise.value?.steps.find(({ state }) => state === "active")?.id ?? (exercise.value?.finished ? "end" : "");
    if (active === this.#active) return;
    this.#active = active;
    this.querySelector(".step.now, .debrief")?.scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
  }

  /** @param {string} id */
  #toggle(id) {
    const opened = new Set(this.#opened.value);
    if (!opened.delete(id)) opened.add(id);
    this.#opened.value = opened;
  }

  /** Sends when it is pressed a second time. @param {"reset" | "leave"} op */
  #twice(op) {
    if (this.#sure.value === op) {
      const texts = content();
      if (op === "reset" && texts?.is_once) leaveFor(texts.slug);
      else send(op);
    }
    this.#sure.value = this.#sure.value === op ? "" : op;
  }

  /** An exercise of the list. `isNext`: the first that was not finished. @param {Exercise} one @param {boolean} isNext */
  card(one, isNext) {
    const { number, minutes: long, title: texts, brief } = one;
    const done = finished.value.has(one.slug);
    const elsewhere = isElsewhere(one);
    const begin = t(elsewhere ? "exercise.start_elsewhere" : done ? "exercise.again" : "exercise.start");
    return html`<article class="ex-card ${isNext ? "next" : ""}">
      <div class="cap"><span>${t("exercise.number", { n: number })}</span>
        ${elsewhere ? html`<span class="tag" title=${t("exercise.era_said", { era: one.era })}>${t("runs.of_era",
          { era: one.era })}</span>` : ""}
        <span class="right">${done ? html`<span class="tag ok">✓ ${t("exercise.finished")}</span>` : minutes(long)}</span></div>
      ${title(texts, `/course/${one.slug}/`)}
      ${isNext ? html`<div class="prose">${markdown(brief[short])}</div>` : ""}
      <button class="btn ${isNext ? "pri" : ""}" aria-label="${begin}: ${texts[short]}" @click=${() => start(one)}>${begin}</button>
    </article>`;
  }

  list() {
    const next = exercises.find(({ slug }) => !finished.value.has(slug));
    return html`<div class="ex-list">
      <p class="dim">${t("exercise.choose")} <a class="link" href="/">${t("exercise.course")}</a></p>
      ${exercises.map((one) => this.card(one,
      one === next))}</div>`;
  }

  // --- a prediction ------------------------------------------------------------------------------------------------

  /**
   * @param {StepFrame} step
   * @param {Choice} choice
   * @param {number} place
   * @param {string} chosen
   * @param {(value: string) => void} pick
   */
  option(step, { value, note }, place, chosen, pick) {
    const { prediction, said } = step;
    const happened = prediction?.outcome === value;
    return html`<button class="opt ${happened ? "right" : ""}" role="radio" data-value=${value} ?disabled=${Boolean(prediction)}
      aria-checked=${value === chosen}
      tabindex=${value === chosen || (!chosen && place === 0) ? 0 : -1} @click=${() => pick(value)}>
      <span class="r"></span><span class="mono">${said[value] ?? value}</span>
      <em>${happened ? t("exercise.happened") : note?.[short]}</em></button>`;
  }

  /** @param {NonNullable<StepFrame["prediction"]>} prediction @param {StepFrame["said"]} said @param {boolean} steps */
  verdict({ choice: chosen, outcome }, said, steps) {
    if (!outcome) return t(steps ? "exercise.locked" : "exercise.locked_only");
    const spoken = { outcome: said[outcome] ?? outcome, choice: said[chosen] ?? chosen };
    return t(outcome === chosen ? "exercise.as_predicted" : "exercise.not_predicted", spoken);
  }

  /** @param {Chosen} chosen @param {(more: Partial<Chosen>) => void} set @param {boolean} steps @param {number} count of choices */
  lockIn({ value, confidence }, set, steps, count) {
    return html`<div class="conf" role="radiogroup" aria-label=${t("exercise.confidence")}>
        <span>${t("exercise.confidence")}</span>
        <div class="seg">${stopsOf(count).map((stop, place) => html`<button role="radio" aria-checked=${stop === confidence}
          @click=${() => set({ confidence: stop })}>${place ? `${Math.round(stop * 100)} %` : t("exercise.guess")}</button>`)}</div></div>
      <div class="row"><button class="btn pri" ?disabled=${!value || !confidence}
        @click=${lockIn}>${t(steps ? "exercise.lock_in" : "exercise.lock_in_only")}</button><kbd>⏎</kbd></div>`;
  }

  /** @param {StepFrame} step @param {Prediction} prediction */
  prediction(step, { choices, steps }) {
    const mine = choice.value.step === step.id ? choice.value : { ...UNDECIDED, step: step.id };
    /** @param {Partial<Chosen>} more */
    const set = (more) => (choice.value = { ...mine, ...more });
    const chosen = step.prediction?.choice ?? mine.value;
    /** @param {KeyboardEvent} event */
    const walk = (event) => {
      const next = nextChoice(inOrder(choices, step.order).map(({ value }) => value), chosen, event.key);
      if (next === undefined || step.prediction) return;
      event.preventDefault();
      set({ value: next });
      requestAnimationFrame(() => this.focusOn(".opt[aria-checked=true]"));
    };
    return html`<div class="pred" role="radiogroup" aria-label=${t("exercise.your_prediction")} @keydown=${walk}>
        ${inOrder(choices, step.order).map((one, place) => this.option(step, one, place, chosen, (value) => set({ value })))}
      </div>
      ${step.prediction ? html`<p class="verdict">${this.verdict(step.prediction, step.said, steps)}</p>`
        : this.lockIn(mine, set, steps, choices.length)}`;
  }

  // --- steps -------------------------------------------------------------------------------------------------------

  /** @param {StepFrame} step @param {number} place */
  mark(step, place) {
    if (step.state !== "done") return html`<span class="n">${place + 1}</span>`;
    return html`<button class="n" aria-label=${t("exercise.step_n", { n: place + 1 })} aria-expanded=${this.#opened.value.has(step.id)}
      @click=${() => this.#toggle(step.id)}>✓</button>`;
  }

  /** @param {StepFrame} step @param {StepTexts | undefined} texts @param {number} place */
  step(step, texts, place) {
    if (!texts) return "";
    const { text, prediction } = texts;
    const { checked, state, why_not } = step;
    const names = [STATE_CLASS[state].step, this.#opened.value.has(step.id) ? "full" : ""];
    return html`<li class="step ${names.join(" ")}" aria-current=${state === "active" ? "step" : "false"}>
      ${this.mark(step, place)}
      <div class="prose">${markdown(text[short])}
        ${checked ? html`<button class="ev mono" title=${t("exercise.go_there")} @click=${() => seek(checked.at_us)}>
          ${instant(checked.at_us)} · ${checked.detail}</button>` : ""}
        ${prediction && state !== "open" ? this.prediction(step, prediction) : ""}
        ${state === "active" && why_not && !prediction ? html`<p class="why-not">${why_not}</p>` : ""}
      </div></li>`;
  }

  /** The steps; of those after an open question only their number, because their texts would answer it. @param {ExerciseFrame} frame */
  steps({ steps }) {
    const question = firstQuestion();
    const shown = question < 0 ? steps : steps.slice(0, question + 1);
    const behind = steps.length - shown.length;
    return html`<ol class="steps">${shown.map((step, place) => this.step(step, contentOf(step), place))}
      ${behind ? html`<li class="step behind"><span class="n" aria-hidden="true">…</span>
        <div class="prose dim">${t("exercise.behind_question", { n: behind })}</div></li>` : ""}</ol>`;
  }

  /** @param {Exercise} texts @param {ExerciseFrame} frame */
  head({ number, minutes: long, title: texts }, { steps, finished }) {
    const done = steps.filter(({ state }) => state === "done").length;
    const at = steps.findIndex(({ state }) => state === "active") + 1 || steps.length;
    const where = finished ? t("exercise.finished") : t("exercise.step_of", { at, n: steps.length });
    return html`<div class="ex-h">
      <div class="cap"><span>${t("exercise.number", { n: number })}</span>
        <span class="right">${[where, minutes(long)].filter(Boolean).join(" · ")}</span></div>
      ${title(texts)}
      <div class="bar" role="progressbar" aria-valuemin="0" aria-valuenow=${done} aria-valuemax=${steps.length}
        aria-label=${t("exercise.progress", { done, n: steps.length })}>
        ${steps.map(({ state }) => html`<i class=${STATE_CLASS[state].bar}></i>`)}</div>
    </div>`;
  }

  /** @param {Exercise} texts @param {ExerciseFrame} frame */
  hints({ hints }, { hints_shown, finished }) {
    const shown = hints.slice(0, hints_shown).map((hint, place) => html`<div class="hint shown">${icon("bulb")}
      <div class="prose"><b>${t("exercise.hint_n", { n: place + 1 })}</b>${markdown(hint[short])}</div></div>`);
    if (finished || hints_shown >= hints.length) return shown;
    return html`${shown}<button class="hint" @click=${nextHint}>${icon("bulb")}
      <span>${t("exercise.hint_of", { at: hints_shown + 1, n: hints.length })}</span><kbd>H</kbd></button>`;
  }

  render() {
    const frame = exercise.value;
    const texts = content();
    if (!texts || !frame) return this.list();
    const begun = frame.steps.some(({ state }) => state === "done");
    return html`${this.head(texts, frame)}
      <div class="ex-b" tabindex="0" @click=${takeLine}>
        <details class="brief prose" ?open=${!begun}><summary>${t("exercise.about")}</summary>${markdown(texts.brief[short])}</details>
        ${this.steps(frame)}
        ${texts.concept && firstQuestion() < 0 ? html`<div class="concept prose">
          <div class="cap">${t("exercise.concept")}</div>${markdown(texts.concept[short])}</div>` : ""}
        ${this.hints(texts, frame)}
        ${frame.finished ? html`<section class="debrief prose">
          <h3>${t("exercise.debrief")}</h3>${markdown(texts.debrief[short])}</section>` : ""}
      </div>
      <div class="ex-f"><span>${t("transport.event", { n: spaced(moment.value.seq) })}</span><span class="spacer"></span>
        ${/** @type {const} */ (["reset", "leave"]).map((op) => html`<button class="btn small" @click=${() => this.#twice(op)}>
          ${t(this.#sure.value === op ? `exercise.sure_${op}` : `exercise.${op}`)}</button>`)}
      </div>`;
  }
}
customElements.define("hw-exercise", HwExercise);
