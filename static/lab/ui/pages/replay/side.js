// Beside the picture: how far the class was, its poll, and the list of instants: chapters, what was said and asked.
import { HwElement, html } from "../../kit/element.js";
import { language, t } from "../../kit/i18n.js";
import { clockText, learners, tree } from "../../classroom/store.js";
import { splitOf } from "../../classroom/poll_split.js";
import { cues } from "./captions.js";
import { lines, loadLines } from "./lines.js";
import * as replay from "./store.js";

class HwReplayProgress extends HwElement {
  render() {
    if (!tree.value.class?.steps || !learners().length) return "";
    const at = clockText(replay.at_us.value);
    return html`<header><b>${t("replay.progress")}</b><span class="tag">${t("replay.at", { at })}</span></header>
      <hw-heat plain></hw-heat>`;
  }
}
customElements.define("hw-replay-progress", HwReplayProgress);

class HwReplayPoll extends HwElement {
  render() {
    const newest = Object.entries(tree.value.polls ?? {}).findLast(([, poll]) => poll.phase !== "made");
    if (!newest) return "";
    const [number, poll] = newest;
    const mine = tree.value.mine?.votes[number];
    const isTold = (poll.splits ?? []).length > 0;
    return html`<header><b>${poll.step ? t("replay.prediction", { n: poll.step }) : t("replay.poll")}</b><span class="tag">${t(
      `replay.phase.${poll.phase}`)}</span></header>
      <p lang=${poll.lang}><bdi>${poll.text}</bdi></p>
      ${isTold ? splitOf(poll) : html`<ol class="plain-list">${poll.choices.map((choice) => html`<li><bdi>${choice}</bdi></li>`)}</ol>`}
      ${mine ? html`<p class="dim">${t("replay.my_answer", { answer: poll.choices[Number(mine.answer)] ?? mine.answer })}</p>` : ""}`;
  }
}
customElements.define("hw-replay-poll", HwReplayPoll);

/** @typedef {"chapters" | "transcript" | "questions" | "events"} List */

class HwReplayLists extends HwElement {
  static properties = { list: { state: true } };

  constructor() {
    super();
    /** @type {List} */
    this.list = "chapters";
  }

  /** @returns {{ at_us: number, text: string, lang: string, tone: string }[]} */
  #rows() {
    const found = replay.manifest.value;
    if (!found) return [];
    if (this.list === "chapters") return found.chapters.map(({ at_us, title }) => ({ at_us, text: title, lang: "", tone: "chapter" }));
    if (this.list === "questions") return found.questions.map(({ at_us, text }) => ({ at_us, text, lang: "", tone: "question" }));
    if (this.list === "transcript") {
      const spoken = (cues.value[language] ?? Object.values(cues.value)[0] ?? []).map(({ from_us, text }) => ({ at_us: from_us, text,
        lang: "", tone: "said" }));
      return spoken;
    }
    return lines.value;
  }

  render() {
    const found = replay.manifest.value;
    if (!found) return "";
    /** @type {List[]} */
    const lists = ["chapters", "events", "questions", ...(Object.keys(cues.value).length ? [/** @type {List} */ ("transcript")] : [])];
    const rows = this.#rows();
    const now = rows.findLastIndex(({ at_us }) => at_us <= replay.at_us.value);
    return html`<header><div class="seg" role="group" aria-label=${t("replay.lists")}>${lists.map((one) => html`<button
        aria-pressed=${this.list === one} @click=${() => {
          this.list = one;
          if (one === "events") void loadLines();
        }}>${t(`replay.list.${one}`)}${one === "questions" && found.questions.length
          ? html` <span class="mono">${found.questions.length}</span>` : ""}</button>`)}</div></header>
      ${!rows.length ? html`<p class="nobody">${t(`replay.none.${this.list}`)}</p>`
        : html`<ol class="instants">${rows.map((row, i) => html`<li
          aria-current=${i === now ? "true" : "false"}><button
        @click=${() => void replay.seek(row.at_us)}><span class="mono">${clockText(row.at_us)}</span><i class="${row.tone}"
          aria-hidden="true"></i><bdi>${row.text}</bdi></button></li>`)}</ol>`}`;
  }
}
customElements.define("hw-replay-lists", HwReplayLists);
