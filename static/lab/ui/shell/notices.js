// Messages at the edge of the page, the state of the connection, and the sentences for screen readers.
import { closedText, dismiss, messages, notify } from "../store/api.js";
import { HwElement, html, icon, repeat } from "../kit/element.js";
import { instant, spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { effect, front, moment, player, signal } from "../store/state.js";
import { assertive, polite, speech } from "../store/speech.js";
import { inMyLanguage, sentence } from "../kit/words.js";

const SUMMARY_MS = 5000;

/** @import { Message } from "../store/api.js" */

class HwMessages extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    this.#speak();
  }

  // Paused or stepping: a sentence for each step. While time runs: only alarms, and a summary now and then.
  #speak() {
    let seq = -1;
    let alarms = new Set();
    /** @type {unknown} */
    let shownBefore = null;
    effect(() => {
      const { view, mode, seq: now, at_us } = moment.value;
      const known = new Set(Object.keys(view.alarms));
      if (front.value !== shownBefore) {
        // The alarms of another branch are not new.
        shownBefore = front.value;
        alarms = known;
        seq = now;
      }
      const fresh = [...known].find((id) => !alarms.has(id));
      if (fresh && seq >= 0) speech.interrupt(`${view.alarms[fresh].invariant}: ${inMyLanguage(view.alarms[fresh], "detail")}`);
      alarms = known;
      if (now === seq) return;
      seq = now;
      if (mode === "pause") {
        const last = player.lastEvents.at(-1);
        speech.forget("summary");
        if (last) speech.say("step", sentence(last));
      } else speech.say("summary", t("live.summary", { at: instant(at_us, 1), n: spaced(now) }), { every_ms: SUMMARY_MS });
    });
  }

  render() {
    const close = t("message.close");
    /** @param {Message} message */
    const one = ({ id, tone, what, expected, todo, line }) => html`
      <div class="message ${tone}" role=${tone === "bad" ? "alert" : "status"}>
        <button class="close" aria-label=${close} title=${close} @click=${() => dismiss(id)}>${icon("close")}</button>
        <b>${what}</b>
        ${line ? html`<code>${line}</code>` : ""}
        ${[expected, todo].filter(Boolean).map((text) => html`<span>${text}</span>`)}
      </div>`;
    return html`<div class="messages">${repeat(messages.value, (message) => message.id, one)}</div>
      <div class="sr" aria-live="polite">${polite.value}</div>
      <div class="sr" aria-live="assertive">${assertive.value}</div>`;
  }
}
customElements.define("hw-messages", HwMessages);

/** The chip beside the run's name: reconnecting, recorded, of another version. */
class HwConnection extends HwElement {
  #second = signal(0);
  #lostAt = 0;

  connectedCallback() {
    super.connectedCallback();
    let skipped = 0;
    let rested = false;
    effect(() => {
      const { connection, isPast } = moment.value;
      if (player.rests && !rested && !isPast) notify("warn", t("connection.rested"), { todo: t("connection.rested_todo") });
      rested = player.rests;
      document.body.classList.toggle("stale", connection === "lost");
      if (connection === "lost") this.#lostAt = performance.now();
      if (connection === "open" && player.skipped > skipped) notify("ok", t("connection.caught_up", { n: spaced(player.skipped) }));
      skipped = player.skipped;
    });
    setInterval(() => moment.value.connection === "lost" && this.#second.value++, 500);
  }

  render() {
    void this.#second.value;
    const { connection, at_us } = moment.value;
    if (player.outdated) return html`<a class="tag warn" href="">${t("connection.outdated")}</a>`;
    /** @param {string} text */
    const bad = (text) => html`<span class="tag bad" role="alert" title=${text}>${text}</span>`;
    if (player.closed) return html`<a class="tag bad" role="alert" href="/runs/" title=${t("connection.closed_todo")}>${closedText()}</a>`;
    if (connection === "lost") {
      const left = Math.max(0, Math.ceil(player.retry_in_s - (performance.now() - this.#lostAt) / 1000));
      return bad([player.why, t("connection.lost", { at: instant(at_us, 3), n: left })].filter(Boolean).join(" "));
    }
    if (connection === "connecting") return html`<span class="tag">${t("connection.connecting")}</span>`;
    const { waking } = player;
    if (waking !== null) return html`<span class="tag warn" role="status" title=${t("connection.waking_title")}>${
      waking ? t("connection.waking_after", { n: waking }) : t("connection.waking")}</span>`;
    if (connection === "recorded") return html`<span class="tag"
      title=${t("connection.recorded_title")}>${t("connection.recorded")}</span>`;
    return "";
  }
}
customElements.define("hw-connection", HwConnection);
