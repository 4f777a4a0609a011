// The exercise panel: steps with their checks, a prediction that is asked before it is shown, hints, debrief.
import { refuse } from "./actions.js";
import { offerLine } from "./console.js";
import { HwElement, html, icon, live } from "./element.js";
import { instant, spaced } from "./format.js";
import { short, t } from "./i18n.js";
import { exercise, moment, player, signal } from "./state.js";
import { seek, setRate, stepRpc } from "./transport.js";
import { markdown } from "./words.js";

/** The exercises of this lab, with their texts: see templates/lab/lab.html. */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");

const EXERCISE_RATE = 0.0025;
const other = short === "en" ? "zh" : "en";
const otherLang = short === "en" ? "zh-CN" : "en";
const choice = signal({ step: "", value: "", confidence: 0.5 });

const send = (op, more = {}) => player.exercise(op, { exercise: exercise.value?.slug, ...more }).catch(refuse);

/** Begins an exercise, at a speed at which single messages can be followed. */
export async function start(slug) {
  await send("start", { exercise: slug });
  await setRate(EXERCISE_RATE);
}

/** The next hint, if there is one. */
export function nextHint() {
  const frame = exercise.value;
  const content = exercises.find(({ slug }) => slug === frame?.slug);
  if (content && frame.hints_shown < content.hints.length) send("hint");
}

/** A prediction whose answer is chosen but not locked in yet: Enter does that before it steps. */
export const canLockIn = () => Boolean(exercise.value && choice.value.value && openStep() && choice.value.step === openStep().id);
const openStep = () => exercise.value?.steps.find((step) => step.state === "active" && step.prediction === null && contentOf(step)?.prediction);
const contentOf = (step) => exercises.find(({ slug }) => slug === exercise.value?.slug)?.steps.find(({ id }) => id === step.id);

export async function lockIn() {
  const { step, value, confidence } = choice.value;
  await send("predict", { step, choice: value, confidence });
  choice.value = { step: "", value: "", confidence: 0.5 };
  await stepRpc();
}

/** A line of code that is pressed goes into the console, to be sent from there. */
function takeLine({ target }) {
  const line = target.closest(".code-line");
  if (line) offerLine(line.textContent.trim());
}

class HwExercise extends HwElement {
  #sure = signal("");
  /** Steps that are done show their first lines only, until somebody opens them. */
  #opened = signal(new Set());
  #active = "";

  #toggle(id) {
    const opened = new Set(this.#opened.value);
    if (!opened.delete(id)) opened.add(id);
    this.#opened.value = opened;
  }

  updated() {
    const active = exercise.value?.steps.find(({ state }) => state === "active")?.id ?? (exercise.value?.finished ? "end" : "");
    if (active === this.#active) return;
    this.#active = active;
    this.querySelector(".step.now, .debrief")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  list() {
    return html`<div class="ex-list">
      <p class="dim">${t("exercise.choose")}</p>
      ${exercises.map(({ slug, number, minutes, title, brief }) => html`<article class="ex-card">
        <div class="cap"><span>${t("exercise.number", { n: number })}</span>${minutes ? html`<span class="right">${t("exercise.minutes", { n: minutes })}</span>` : ""}</div>
        <h2>${title[short]}</h2><div class="other" lang=${otherLang}>${title[other]}</div>
        <div class="prose">${markdown(brief[short])}</div>
        <button class="btn pri" @click=${() => start(slug)}>${t("exercise.start")}</button>
      </article>`)}
    </div>`;
  }

  prediction(step, content) {
    const given = step.prediction;
    const mine = choice.value.step === step.id ? choice.value : { value: "", confidence: 0.5 };
    const value = given?.choice ?? mine.value;
    const pick = (picked) => (choice.value = { ...mine, step: step.id, value: picked });
    const move = (event) => {
      const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      const values = content.choices.map((one) => one.value);
      pick(values[(values.indexOf(value) + way + values.length) % values.length]);
      requestAnimationFrame(() => this.querySelector(".opt[aria-checked=true]")?.focus());
    };
    const right = given?.outcome;
    const number = (choice) => step.offsets?.[choice] ?? choice;
    const offset = (named) => step.offsets?.[named] ?? named;
    return html`<div class="pred" role="radiogroup" aria-label=${t("exercise.your_prediction")} @keydown=${given ? null : move}>
        ${content.choices.map((one, place) => html`<button class="opt ${right && one.value === right ? "right" : ""}" role="radio" ?disabled=${Boolean(given)}
          aria-checked=${one.value === value} tabindex=${one.value === value || (!value && place === 0) ? 0 : -1} @click=${() => pick(one.value)}>
          <span class="r"></span><span class="mono">${offset(one.value)}</span><em>${right && one.value === right ? t("exercise.happened") : one.note?.[short] ?? ""}</em></button>`)}
      </div>
      ${given ? html`<p class="verdict">${right ? t(right === given.choice ? "exercise.as_predicted" : "exercise.not_predicted", { outcome: offset(right), choice: offset(given.choice) }) : t("exercise.locked")}</p>`
        : html`<label class="conf"><span>${t("exercise.guess")}</span><input type="range" min="0" max="1" step="0.05" .style=${`--part: ${mine.confidence * 100}%`} .value=${live(String(mine.confidence))}
            aria-label=${t("exercise.confidence")} @input=${(event) => (choice.value = { ...mine, step: step.id, confidence: Number(event.target.value) })}><span>${t("exercise.sure")}</span></label>
          <div class="row"><button class="btn pri" ?disabled=${!mine.value} @click=${lockIn}>${t("exercise.lock_in")}</button><kbd>⏎</kbd></div>`}`;
  }

  step(step, place) {
    const content = contentOf(step);
    if (!content) return "";
    const state = step.state === "done" ? "done" : step.state === "active" ? "now" : "";
    return html`<li class="step ${state} ${this.#opened.value.has(step.id) ? "full" : ""}" aria-current=${step.state === "active" ? "step" : "false"}>
      ${step.state === "done" ? html`<button class="n" aria-label=${t("exercise.step_n", { n: place + 1 })} aria-expanded=${this.#opened.value.has(step.id)} @click=${() => this.#toggle(step.id)}>✓</button>` : html`<span class="n">${place + 1}</span>`}
      <div class="prose">${markdown(content.text[short])}
        ${step.checked ? html`<button class="ev mono" title=${t("exercise.go_there")} @click=${() => seek(step.checked.at_us)}>${instant(step.checked.at_us)} · ${step.checked.detail}</button>` : ""}
        ${content.prediction && step.state !== "open" ? this.prediction(step, content.prediction) : ""}
        ${step.state === "active" && step.why_not && !content.prediction ? html`<p class="why-not">${step.why_not}</p>` : ""}
      </div></li>`;
  }

  render() {
    const frame = exercise.value;
    const content = exercises.find(({ slug }) => slug === frame?.slug);
    if (!frame || !content) return this.list();
    const done = frame.steps.filter(({ state }) => state === "done").length;
    const at = frame.steps.findIndex(({ state }) => state === "active") + 1 || frame.steps.length;
    const left = content.hints.length - frame.hints_shown;
    const twice = (op) => (this.#sure.value === op ? (send(op), (this.#sure.value = "")) : (this.#sure.value = op));
    return html`<div class="ex-h">
        <div class="cap"><span>${t("exercise.number", { n: content.number })}</span><span class="right">${frame.finished ? t("exercise.finished") : t("exercise.step_of", { at, n: frame.steps.length })}${content.minutes ? ` · ${t("exercise.minutes", { n: content.minutes })}` : ""}</span></div>
        <h2>${content.title[short]}</h2><div class="other" lang=${otherLang}>${content.title[other]}</div>
        <div class="bar" role="progressbar" aria-valuemin="0" aria-valuenow=${done} aria-valuemax=${frame.steps.length} aria-label=${t("exercise.progress", { done, n: frame.steps.length })}>
          ${frame.steps.map(({ state }) => html`<i class=${state === "done" ? "d" : state === "active" ? "n" : ""}></i>`)}</div>
      </div>
      <div class="ex-b" tabindex="0" @click=${takeLine}>
        <details class="brief prose" ?open=${done === 0}><summary>${t("exercise.about")}</summary>${markdown(content.brief[short])}</details>
        <ol class="steps">${frame.steps.map((step, place) => this.step(step, place))}</ol>
        ${content.concept ? html`<div class="concept prose"><div class="cap">${t("exercise.concept")}</div>${markdown(content.concept[short])}</div>` : ""}
        ${content.hints.slice(0, frame.hints_shown).map((hint, place) => html`<div class="hint shown">${icon("bulb")}<div class="prose"><b>${t("exercise.hint_n", { n: place + 1 })}</b>${markdown(hint[short])}</div></div>`)}
        ${left > 0 && !frame.finished ? html`<button class="hint" @click=${nextHint}>${icon("bulb")}<span>${t("exercise.hint_of", { at: frame.hints_shown + 1, n: content.hints.length })}</span><kbd>H</kbd></button>` : ""}
        ${frame.finished ? html`<section class="debrief prose"><h3>${t("exercise.debrief")}</h3>${markdown(content.debrief[short])}</section>` : ""}
      </div>
      <div class="ex-f"><span>${t("transport.event", { n: spaced(moment.value.seq) })}</span><span class="spacer"></span>
        <button class="btn small" @click=${() => twice("reset")}>${t(this.#sure.value === "reset" ? "exercise.sure_reset" : "exercise.reset")}</button>
        <button class="btn small" @click=${() => twice("leave")}>${t(this.#sure.value === "leave" ? "exercise.sure_leave" : "exercise.leave")}</button></div>`;
  }
}
customElements.define("hw-exercise", HwExercise);
