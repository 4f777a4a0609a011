// Says what is new in the class to people who do not see the page: to learners at once, to staff gathered in one sentence.
import { effect, signal } from "@preact/signals-core";
import { heardByLearner, heardByStaff, heardOfTimer, learnersFacts, staffsFacts } from "../../../core/classroom/heard.js";
import { Speech, spoken } from "../../../core/speech.js";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { answerText, now_us, shownName, stuckText, tree } from "../store.js";

/** @import { Heard } from "../../../core/classroom/heard.js" */

/** Between two sentences to staff at least. */
const GATHER_MS = 5000;

/** A learner hears what concerns them. @param {Speech} speech */
export function speakToLearner(speech) {
  /** @param {Heard | null} heard */
  const say = (heard) => heard && speech.say(`class ${heard.topic}`, t(heard.id, heard.values ?? {}));
  /** @type {ReturnType<typeof learnersFacts> | null} */
  let before = null;
  effect(() => {
    if (!tree.value.mine) return;
    const now = learnersFacts(tree.value, answerText);
    if (before) heardByLearner(before, now).forEach(say);
    before = now;
  });
  let timer = "";
  let left_us = Infinity;
  effect(() => {
    const now = learnersFacts(tree.value, answerText);
    const { from_us = 0 } = tree.value.timer ?? {};
    // The server ends the timer before or after the page has seen its last second.
    if (!now.timer && timer && left_us > 0) say({ topic: "timer", id: "heard.timer_end" });
    if (now.timer !== timer) [timer, left_us] = [now.timer, Infinity];
    if (!timer) return;
    const was_us = left_us;
    left_us = now.timer_ends_us - now_us.value;
    say(heardOfTimer(was_us, left_us, now.timer_ends_us - from_us));
  });
}

/** Staff hear who needs them. @param {Speech} speech */
function speakToStaff(speech) {
  /** @type {ReturnType<typeof staffsFacts> | null} */
  let before = null;
  const say = (/** @type {string} */ sentence) =>
    speech.say("class", sentence, { every_ms: GATHER_MS, gather: (all) => all.join(" ") });
  effect(() => {
    if (!tree.value.class) return;
    const now = staffsFacts(tree.value, shownName, answerText);
    if (before) {
      const { hands, questions, stuck, waiting, poll } = heardByStaff(before, now);
      for (const name of hands) say(t("heard.hand", { name }));
      for (const { name, text } of questions) say(name ? t("heard.question", { name, text }) : t("heard.question_nameless", { text }));
      for (const { name, person } of stuck) say(t("heard.stuck", { name, why: stuckText(person) }));
      if (waiting) say(t("heard.at_door", { n: waiting }));
      for (const { id, values } of poll) say(t(id, values ?? {}));
    }
    before = now;
  });
}

const polite = signal("");

/** The region of the board; what is urgent there has the role of an alert. */
class HwClassSpeech extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    speakToStaff(new Speech({ polite: (text) => (polite.value = spoken(polite.peek(), text)), assertive: () => {} }));
  }

  render() {
    return html`<div class="sr" aria-live="polite">${polite.value}</div>`;
  }
}
customElements.define("hw-class-speech", HwClassSpeech);
