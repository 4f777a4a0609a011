// The big screen: how many are here, the timer, the poll. It has no input, and no names but those that the stage allows.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { lessonName } from "./lessons.js";
import { mistakesOf } from "./mistakes.js";
import { outcomeOf, splitOf } from "./poll_result.js";
import { clockText, connection, count, currentPoll, now_us, tree } from "./store.js";

class HwProjector extends HwElement {
  #poll() {
    const current = currentPoll();
    if (!current || current[1].phase === "made") return "";
    const [, poll] = current;
    return html`<section class="on-screen" aria-labelledby="screen-poll"><h2 id="screen-poll" lang=${poll.lang}>${poll.text}</h2>
      ${poll.shown ? splitOf(poll) : html`<ol class="choices">${poll.choices.map((choice) => html`<li>${choice}</li>`)}</ol>`}
      ${outcomeOf(poll)}
      <p class="phase">${t(`board.poll.phase.${poll.phase}`)}${poll.until_us > now_us.value
        ? html` · <span class="mono">${clockText(poll.until_us - now_us.value)}</span>` : ""}</p></section>`;
  }

  #mistakes() {
    const { rows = [], shown = false, fewest = 0 } = tree.value.mistakes ?? {};
    // A poll needs the room.
    if (!shown || this.#poll()) return "";
    // Where staff have opened the page, it gets what their board gets, and leaves out what the class may not see.
    const seen = rows.filter(({ learners }) => learners >= fewest);
    return html`<section class="on-screen" aria-labelledby="screen-mistakes"><h2 id="screen-mistakes">${t("board.mistakes.title")}</h2>
      ${seen.length ? mistakesOf(seen, count.value?.learners ?? 0) : html`<p>${t("board.mistakes.few")}</p>`}</section>`;
  }

  render() {
    const { timer, lead, stage, pace, paused, class: info } = tree.value;
    const { state, why } = connection.value;
    if (info?.ended) return html`<p class="large">${t("board.screen.ended")}</p>`;
    const left_us = timer ? timer.from_us + timer.seconds * 1e6 - now_us.value : 0;
    const shows = stage?.shown ? (stage.name ? t("board.mine.stage", { name: stage.name }) : t("board.screen.stage"))
      : lead ? t("board.leads", { name: lead.name }) : "";
    return html`<div class="projector-body"><hw-sound-mark></hw-sound-mark>
      ${info?.chapter ? html`<p class="large lesson">${lessonName(info.chapter)}</p>` : ""}
      <p class="here">${t("board.screen.here", { n: count.value?.learners ?? 0 })}</p>
      ${timer ? html`<p class="huge mono" role="timer">${clockText(left_us)}</p>` : ""}
      ${this.#poll()}${this.#mistakes()}
      <p class="told">${[shows, paused ? t("board.mine.paused") : "", pace ? t("board.mine.pace", { n: pace })
        : ""].filter(Boolean).join(" · ")}</p>
      ${why || state === "lost" ? html`<p class="tag bad" role="alert">${why || t("board.lost")}</p>` : ""}</div>`;
  }
}
customElements.define("hw-projector", HwProjector);
