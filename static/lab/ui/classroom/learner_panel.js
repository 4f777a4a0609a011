// The class at the side of a lab: notes of staff, the poll, hand and questions of a learner; the next lesson for staff.
import { signal } from "@preact/signals-core";
import { HwElement, html } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { instant } from "../kit/format.js";
import { language, t } from "../kit/i18n.js";
import { keepVote, keptVote } from "../kit/kept_votes.js";
import { runOf } from "./followed.js";
import { lookedAt, ownLab } from "./looked_at.js";
import "./lesson.js";
import "./poll_panel.js";
import "./refusal.js";
import "./thing_field.js";
import { outcomeOf, splitOf } from "./poll_result.js";
import { act, answerText, asks, classSlug, clockText, connection, currentPoll, joined, now_us, STAFF, tree } from "./store.js";

/** @import { Mine, Poll } from "../../core/classroom/class.d.ts" */
/** @import { At } from "./looked_at.js" */

/** @param {number} poll */
const ballotOf = (poll) => ({ slug: classSlug.value, p: joined()?.you?.p ?? "", poll });

/** The answer of this tab to the round of an anonymous poll. @param {number} number @param {Poll} poll */
function answerOf(number, poll) {
  const kept = keptVote(ballotOf(number));
  return kept?.round === poll.round ? kept : null;
}

/** The position of a round's slider in percent, once the participant has moved it. */
const moved = signal({ round: "", sure: "" });

/** How sure the participant is of the answer. @param {string} round @param {number} given in percent */
function sureField(round, given) {
  const sure = moved.value.round === round ? moved.value.sure : String(given);
  return html`<label class="field"><span class="row">${t("board.mine.how_sure")}
    <span class="mono" aria-hidden="true">${sure} %</span></span><input type="range" name="sure" min="0" max="100" step="5"
    .value=${sure} aria-valuetext=${`${sure} %`} @input=${onValue((value) => (moved.value = { round, sure: value }))} /></label>`;
}

/** What a poll is answered with. @param {Poll} poll @param {string} given */
function answerField(poll, given) {
  if (poll.choices.length) return html`<div role="radiogroup" aria-label=${poll.text}>${poll.choices.map((choice, index) => html`<label
    class="check"><input type="radio" name="answer" value=${index} required
      ?checked=${given === String(index)} />${choice}</label>`)}</div>`;
  if (poll.form === "point") return html`<hw-thing-field label=${t("board.mine.answer")} value=${given}></hw-thing-field>`;
  return html`<label class="field">${t("board.mine.answer")}<input name="answer" type="text" inputmode="numeric" maxlength="120" required
    .value=${given} /></label>`;
}

class HwClassPanel extends HwElement {
  static properties = { taking: { state: true }, given: { state: true }, undoing: { state: true }, asksAt: { state: true } };

  constructor() {
    super();
    /** The state that is being taken. */
    this.taking = "";
    /** The state whose run this page opens, once it is there. */
    this.given = "";
    /** The lab whose changes by a helper are being undone. */
    this.undoing = "";
    /** The instant of the question that is being written; null: that of its sending. @type {At | null} */
    this.asksAt = null;
  }

  /** Begins a question about the instant that is looked at now. */
  async askNow() {
    this.asksAt = lookedAt();
    await this.updateComplete;
    this.focusOn("#class-question");
  }

  /** @param {SubmitEvent} event */
  async #ask(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const data = new FormData(form);
    const text = String(data.get("question")).trim();
    const at = this.asksAt ?? lookedAt();
    if (!text || !at || !await act({ op: "ask", text, lang: language, at, named: data.has("named") })) return;
    this.asksAt = null;
    form.reset();
    this.#keepQuestion("");
  }

  /** A question that was not begun has no instant. @param {FocusEvent} event */
  #leaves({ currentTarget, relatedTarget }) {
    const form = /** @type {HTMLFormElement} */ (currentTarget);
    // In another window, the page keeps its focus.
    if (!document.hasFocus() || (relatedTarget instanceof Node && form.contains(relatedTarget))) return;
    if (!String(new FormData(form).get("question")).trim()) this.asksAt = null;
  }

  /** The key of an unsent question, which survives a change of page: the class may start another lesson meanwhile. */
  get #kept() {
    return `highwater.question.${classSlug.peek()}`;
  }

  /** @param {string} text */
  #keepQuestion(text) {
    sessionStorage.setItem(this.#kept, text);
  }

  /** @param {number} number @param {Poll} poll @param {SubmitEvent} event */
  async #vote(number, poll, event) {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const answer = String(data.get("answer") ?? "").trim();
    if (!answer) return;
    const sure = poll.asks_sure ? Number(data.get("sure")) : -1;
    const ballot = ballotOf(number);
    const before = keptVote(ballot);
    if (poll.anonymous) keepVote(ballot, { answer, sure, round: poll.round });
    this.requestUpdate();
    // The class still has the answer before a refused one.
    if (!await act({ op: "vote", poll: number, answer, sure })) keepVote(ballot, before);
    this.requestUpdate();
  }

  /** Whether this page's lab is of an earlier lesson, or could not be created. @param {Mine} mine */
  #lesson({ role, own_lab: lab, lab_refused: why, taken }) {
    if (why) return html`<div class="card asked" role="status"><b>${t(`class.lesson.no_lab.${why}`)}</b>
      <p>${t("class.lesson.no_lab_todo")}</p><div class="button-row"><a class="btn small pri" href="/classes/${classSlug.value}/">${
        t("class.lesson.try_again")}</a><a class="btn small" href="/runs/">${t("runs.title")}</a></div></div>`;
    const { lead, stage } = tree.value;
    const isNow = [lab, ...Object.values(taken), lead?.lab, stage?.lab].some((one) => runOf(one) === runOf(ownLab));
    if (role !== "learner" || !lab || isNow) return "";
    return html`<p class="tag warn">${t("class.lesson.earlier")}</p><div class="button-row"><a class="btn small pri" href="/r/${lab}">${
      t("class.own_lab")}</a></div>`;
  }

  /** @param {Mine} mine */
  #told(mine) {
    const { paused, pace, timer, lead, stage } = tree.value;
    const staff = tree.value.staff ?? {};
    /** @param {string} p */
    const named = (p) => staff[p]?.name || t("board.role.instructor");
    const left_us = timer ? timer.from_us + timer.seconds * 10_000 * mine.time_percent - now_us.value : 0;
    return html`${mine.looked_by.length ? html`<p class="tag select">${t("board.mine.looked_by",
      { name: named(mine.looked_by[0]) })}</p>` : ""}
      ${paused ? html`<p class="tag warn">${t("board.mine.paused")}</p>` : ""}
      ${lead && lead.presence !== "here" ? html`<p class="tag warn">${t("board.mine.lead_away", { name: lead.name })}</p>` : ""}
      ${stage?.shown ? html`<p class="tag select">${mine.on_stage ? t("board.mine.on_stage")
        : t("board.mine.stage", { name: stage.name || t("board.a_learner") })}</p>` : ""}
      ${pace ? html`<p class="dim">${t("board.mine.pace", { n: pace })}</p>` : ""}
      ${timer ? html`<p class="tag warn mono" role="timer">${clockText(left_us)}</p>` : ""}`;
  }

  /** @param {SubmitEvent} event */
  #accept(event) {
    event.preventDefault();
    const data = new FormData(/** @type {HTMLFormElement} */ (event.target));
    void act({ op: "answer_stage", accepted: true, named: data.has("named"), recorded: data.has("recorded") });
  }

  /** @param {Mine} mine */
  #invitation(mine) {
    return html`<form class="card asked" @submit=${this.#accept}>
      <b>${t("board.mine.stage_asked", { left: clockText(mine.stage_until_us - now_us.value) })}</b>
      <label class="check"><input type="checkbox" name="named" />${t("board.mine.with_name")}</label>
      <label class="check"><input type="checkbox" name="recorded" />${t("board.mine.in_recording")}</label>
      <div class="button-row"><button class="btn small pri">${t("board.mine.accept")}</button>
        <button type="button" class="btn small" @click=${() => act({ op: "answer_stage", accepted: false })}>${
          t("board.mine.decline")}</button>
      </div></form>`;
  }

  /** @param {Mine} mine */
  #asked(mine) {
    if (mine.stage_until_us > now_us.value) return this.#invitation(mine);
    const help = mine.help;
    if (!help) return mine.on_stage ? html`<button class="btn small"
      @click=${() => act({ op: "clear_stage" })}>${t("board.mine.leave_stage")}</button>` : "";
    const name = (tree.value.staff ?? {})[help.by]?.name || t("board.role.instructor");
    if (help.until_us) return html`<div class="card asked" role="alert"><b>${t("board.mine.helped", { name })}</b>
      <div class="button-row"><button class="btn small pri" @click=${() => act({ op: "choose_help",
        kept: true })}>${t("board.mine.keep")}</button>
        <button class="btn small" ?disabled=${Boolean(this.undoing)} @click=${() => this.#undo(mine.lab)}>${
          t("board.mine.as_it_was")}</button></div></div>`;
    return html`<div class="card asked" role="status"><b>${t("board.mine.helping", { name })}</b>
      ${help.wheel === help.by ? html`<button class="btn small" @click=${() => act({ op: "take_wheel",
        p: joined()?.you?.p })}>${t("board.mine.take_wheel")}</button>` : ""}</div>`;
  }

  /** Undoes what a helper did: the lab continues in a branch from before, which this page opens. @param {string} lab with the changes */
  async #undo(lab) {
    this.undoing = lab;
    if (!await act({ op: "choose_help", kept: false })) this.undoing = "";
  }

  /** @param {Mine} mine */
  #poll(mine) {
    const current = currentPoll();
    if (!current) return "";
    const [number, poll] = current;
    const given = mine.votes[number] ?? answerOf(number, poll);
    const isOpen = poll.phase === "open";
    return html`<section class="card" aria-labelledby="class-poll"><h2 class="block-title" id="class-poll">${t("board.poll.title")}
        ${poll.until_us > now_us.value ? html`<span class="mono">${clockText(poll.until_us - now_us.value)}</span>` : ""}</h2>
      <p class="question" lang=${poll.lang}>${poll.text}</p>
      ${isOpen ? html`<form @submit=${(/** @type {SubmitEvent} */ event) => this.#vote(number, poll, event)}>
        ${answerField(poll, given?.answer ?? "")}
        ${poll.asks_sure ? sureField(`${number}/${poll.round}`, given?.sure ?? 50) : ""}
        <button class="btn small pri">${t(given ? "board.mine.vote_again" : "board.mine.vote")}</button>
        ${given ? html`<p>${t("board.mine.voted", { answer: answerText(poll, given.answer) })}</p>` : ""}
        ${given && poll.anonymous ? html`<p class="dim">${t("board.mine.counted_later")}</p>` : ""}</form>`
        : given ? html`<p>${t("board.mine.voted", { answer: answerText(poll, given.answer) })}</p>` : ""}
      ${poll.phase === "discussed" ? html`<p class="advice">${t("board.mine.discuss")}</p>` : ""}
      ${outcomeOf(poll)}
      ${poll.shown ? splitOf(poll) : ""}</section>`;
  }

  /** States that staff handed out: each starts a run of the learner's own, and their earlier runs stay. @param {Mine} mine */
  #handouts(mine) {
    const given = Object.entries(tree.value.handouts ?? {});
    if (!given.length || mine.role !== "learner") return "";
    return html`<section class="card" aria-labelledby="class-states">
      <h2 class="block-title" id="class-states">${t("board.mine.states")}</h2>
      <ul class="state-list">${given.map(([number, { at_us: at }], index) => html`<li><span>${t("board.mine.state", { n: index + 1,
        at: (at / 1e6).toFixed(3) })}</span>${mine.taken[number]
        ? runOf(mine.taken[number]) === runOf(ownLab) ? html`<span class="tag ok">${t("board.mine.state_open")}</span>`
          : html`<a class="btn small" href="/r/${mine.taken[number]}">${t("board.mine.open_state")}</a>`
        : html`<button class="btn small pri" ?disabled=${this.taking === number} @click=${() => this.#take(number)}>${
          t("board.mine.take_state")}</button>`}</li>`)}</ul></section>`;
  }

  /** Makes a run that continues from a state, and opens it. @param {string} number */
  async #take(number) {
    this.taking = number;
    if (!await act({ op: "take_state", handout: Number(number) })) return void (this.taking = "");
    // A refused act does not end following.
    this.dispatchEvent(new Event("hw-works-alone", { bubbles: true }));
    this.given = number;
    return undefined;
  }

  updated() {
    const question = /** @type {HTMLTextAreaElement | null} */ (this.querySelector("#class-question:not(.kept)"));
    if (question) {
      question.classList.add("kept");
      question.value = sessionStorage.getItem(this.#kept) ?? "";
    }
    const { mine } = tree.peek();
    const taken = this.given && mine?.taken[this.given];
    // Another tab may have brought another run to the front meanwhile.
    const before = this.undoing && mine?.lab !== this.undoing && runOf(mine?.lab) === runOf(this.undoing) && mine?.lab;
    if (!taken && !before) return;
    this.taking = this.given = this.undoing = "";
    location.assign(`/r/${taken || before}`);
  }

  /** @param {Mine} mine */
  #questions(mine) {
    const asked = Object.entries(tree.value.questions ?? {}).filter(([, question]) => !question.answered);
    return html`<ul class="ask-list">${asked.map(([number, question]) => html`<li><span class="sign" aria-hidden="true">?</span>
      <div>${question.name ? html`<b><bdi>${question.name}</bdi></b> ` : ""}<span lang=${question.lang}>${question.text}</span></div>
      <button class="btn small" aria-pressed=${mine.backed.includes(Number(number)) ? "true" : "false"}
        ?disabled=${mine.asked.includes(Number(number)) || mine.backed.includes(Number(number))}
        @click=${() => act({ op: "back", question: Number(number) })}>${t("board.mine.me_too",
          { n: question.backers })}</button></li>`)}</ul>`;
  }

  /** The hand, marks and questions. @param {Mine} mine */
  #asking(mine) {
    if (!asks(mine.role)) return "";
    return html`<div class="button-row">${mine.role === "learner" ? html`<button class="btn"
      aria-pressed=${mine.hand_us ? "true" : "false"} @click=${() => this.#hand(mine)}>☝ ${mine.hand_us
      ? t("board.mine.hand_up", { n: mine.hand_place }) : t("board.mine.raise_hand")} <kbd>J</kbd></button>` : ""}
      <button class="btn" @click=${() => act({ op: "mark" })}>${t("board.mine.mark")}</button></div>
      <form class="note" @submit=${this.#ask} @focusout=${this.#leaves}><label class="field">
        <span>${t("board.mine.ask")} <kbd>Q</kbd></span><textarea
        id="class-question" name="question" rows="2" maxlength="500"
        @input=${onValue((text) => this.#keepQuestion(text))}></textarea></label>
        <label class="check"><input type="checkbox" name="named" />${t("board.mine.ask_named")}</label>
        <button class="btn small">${t("board.mine.send_question")}</button><small
          class="dim">${this.asksAt ? t("board.mine.ask_at", { at: instant(this.asksAt.at_us, 3) })
            : t("board.mine.ask_note")}</small>${this.asksAt ? html`<button type="button" class="btn small"
          @click=${() => (this.asksAt = null)}>${t("board.mine.ask_now")}</button>` : ""}</form>`;
  }

  render() {
    const { mine, class: info } = tree.value;
    const { closed, state, why, outdated } = connection.value;
    if (outdated) return html`<div class="class-panel"><p><a href="">${t("connection.outdated")}</a></p></div>`;
    if (closed && state !== "open") return html`<div class="class-panel"><p>${t("board.closed", { why: closed })}</p></div>`;
    const waits = why ? html`<p class="tag bad" role="alert">${why}</p>` : "";
    if (!mine) return waits || html`<p class="dim">${t("board.mine.connecting")}</p>`;
    if (info?.ended) return html`<div class="class-panel"><p>${t("board.mine.ended")}</p><div class="button-row">
      ${mine.role === "learner" ? html`<a class="btn pri" href="/classes/${classSlug.value}/summary/">${t("summary.title")}</a>` : ""}
      <a class="btn" href="/classes/${classSlug.value}/replay/">${t("replay.title")}</a></div></div>`;
    if (mine.waits) return html`<div class="class-panel"><p>${t("board.mine.waits")}</p></div>`;
    const notes = Object.values(mine.notes);
    // Presenters start the next lesson from here.
    const teaches = STAFF.includes(mine.role) && Object.values(tree.value.people ?? {}).some(({ role }) => role === "learner");
    return html`<div class="class-panel">${waits}<hw-class-refusal></hw-class-refusal>${
      teaches ? html`<hw-class-lesson class="button-row"></hw-class-lesson>` : ""}${this.#lesson(mine)}${this.#told(mine)}
      ${this.#asked(mine)}${STAFF.includes(mine.role) ? html`<hw-poll-panel class="card"></hw-poll-panel>` : this.#poll(mine)}
      ${this.#handouts(mine)}
      ${this.#asking(mine)}
      ${this.#questions(mine)}
      ${notes.length ? html`<section><h2 class="block-title">${t("board.mine.notes")}</h2>${notes.map((note) => html`<p class="sent"
        lang=${note.lang}>
        <small class="mono">${clockText(note.sent_us)}</small> ${note.text}</p>`)}</section>` : ""}</div>`;
  }

  /** @param {Mine} mine */
  #hand(mine) {
    if (mine.hand_us) return act({ op: "lower_hand" });
    const at = lookedAt();
    return at ? act({ op: "raise_hand", at }) : Promise.resolve(false);
  }
}
customElements.define("hw-class-panel", HwClassPanel);
