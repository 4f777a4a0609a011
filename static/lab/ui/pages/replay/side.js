// Next to the picture: the progress of the class, and its poll.
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { board, show } from "../../classroom/board_state.js";
import { answerText, clockText, learners, tree } from "../../classroom/store.js";
import { outcomeOf, splitOf } from "../../classroom/poll_result.js";
import * as replay from "./store.js";

const ORDERS = /** @type {const} */ (["stuck", "name"]);

class HwReplayProgress extends HwElement {
  render() {
    if (!tree.value.class?.steps || !learners().length) return "";
    const at = clockText(replay.at_us.value);
    return html`<header><b>${t("replay.progress")}</b><span class="tag">${t("replay.at", { at })}</span><span
      class="spacer"></span><div class="seg" role="group" aria-label=${t("replay.order")}>${ORDERS.map((by) => html`<button
        aria-pressed=${board.value.sort === by} @click=${() => show({ sort: by })}>${t(`board.sort.${by}`)}</button>`)}</div></header>
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
      ${outcomeOf(poll)}
      ${mine ? html`<p class="dim">${t("replay.my_answer", { answer: answerText(poll, mine.answer) })}</p>` : ""}`;
  }
}
customElements.define("hw-replay-poll", HwReplayPoll);
