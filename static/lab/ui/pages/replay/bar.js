// The time bar of the class: activity, chapters, idle and off-record spans, and the playhead.
import { HwElement, html, svg } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { clockText } from "../../classroom/store.js";
import { lines } from "./lines.js";
import * as replay from "./store.js";

/** @import { Span } from "../../../core/replay/manifest.d.ts" */

const HEIGHT = 44;
const STEP_US = 5e6;
/** Intervals of the labels, seconds. */
const INTERVALS_S = [5, 10, 30, 60, 120, 300, 600, 1200, 3600];
const LABELS = 11;
/** Of a label, pixels. */
const LABEL_PX = 40;

/** The class time that the bar shows. */
const whole_us = () => Math.max(1, replay.length_us.value - replay.first_us.value);
/** Width of a span in percent. @param {number} us */
const width = (us) => (100 * us) / whole_us();
/** Position of an instant in percent. @param {number} us */
const part = (us) => width(us - replay.first_us.value);

/** Whether the primary button is down; moves have no button of their own. @param {PointerEvent} event */
const isHeld = ({ type, button, buttons }) => (type === "pointerdown" ? button === 0 : (buttons & 1) > 0);

/** Moves a slider by keys. @param {KeyboardEvent} event @param {(by_us: number) => unknown} move */
function pressed(event, move) {
  const by_us = { ArrowLeft: -STEP_US, ArrowRight: STEP_US, PageDown: -60e6, PageUp: 60e6 }[event.key];
  if (by_us === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  move(by_us);
}

const seekByKey = (/** @type {KeyboardEvent} */ event) => pressed(event, (by_us) => replay.seek(replay.atNow() + by_us));

class HwReplayBar extends HwElement {
  static properties = { width: { state: true } };
  #resizes = new ResizeObserver(([{ contentRect }]) => (this.width = contentRect.width));

  constructor() {
    super();
    this.width = 900;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#resizes.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#resizes.disconnect();
  }

  /** @param {PointerEvent} event */
  #scrub(event) {
    if (!isHeld(event)) return;
    const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    if (event.type === "pointerdown") /** @type {HTMLElement} */ (event.currentTarget).setPointerCapture(event.pointerId);
    void replay.seek(replay.first_us.peek() + ((event.clientX - box.left) / box.width) * whole_us());
  }

  #area() {
    const { counts: all, bucket_us } = replay.manifest.value?.density ?? { counts: [], bucket_us: 1 };
    const counts = all.slice(Math.floor(replay.first_us.value / bucket_us));
    const most = Math.log1p(Math.max(1, ...counts));
    const step = (this.width * bucket_us) / whole_us();
    const top = counts.map((count, i) => `${(i * step).toFixed(1)},${(HEIGHT - (Math.log1p(count) / most) * (HEIGHT - 6)).toFixed(1)}`);
    return svg`<polygon points="0,${HEIGHT} ${top.join(" ")} ${(counts.length * step).toFixed(1)},${HEIGHT}"></polygon>`;
  }

  /** @param {Span[]} spans @param {string} look @param {string} title */
  #spans(spans, look, title) {
    return spans.map(([from_us, to_us]) => html`<i class="span ${look}" title=${title}
      .style=${`left:${part(from_us)}%;width:${width(to_us - from_us)}%`}></i>`);
  }

  #chapters() {
    const chapters = replay.manifest.value?.chapters ?? [];
    const at_us = replay.at_us.value;
    return chapters.map((chapter, i) => {
      const end_us = chapters[i + 1]?.at_us ?? replay.length_us.value;
      const isNow = at_us >= chapter.at_us && at_us < end_us;
      return html`<button class="chapter ${isNow ? "now" : ""}"
        .style=${`left:${part(chapter.at_us)}%;width:${width(end_us - chapter.at_us)}%`}
        title="${clockText(chapter.at_us)} ${chapter.title}" aria-current=${isNow ? "true" : "false"}
        @click=${() => void replay.seek(chapter.at_us)}><bdi>${chapter.title}</bdi></button>`;
    });
  }

  /** @param {PointerEvent} event @param {0 | 1} end */
  #drag(event, end) {
    if (!isHeld(event)) return;
    const handle = /** @type {HTMLElement} */ (event.currentTarget);
    if (event.type === "pointerdown") handle.setPointerCapture(event.pointerId);
    const { left, width } = /** @type {HTMLElement} */ (this.querySelector(".track")).getBoundingClientRect();
    replay.moveLoop(end, replay.first_us.peek() + ((event.clientX - left) / width) * whole_us());
  }

  /** The ends of the repeated passage. @param {Span} repeated */
  #ends(repeated) {
    const [min, max, ...now] = [replay.first_us.value, replay.length_us.value, ...repeated].map((us) => Math.floor(us / 1e6));
    return repeated.map((us, i) => html`<i class="end" role="slider" tabindex="0" aria-label=${t(i ? "replay.loop_to" : "replay.loop_from")}
      title="${t(i ? "replay.loop_to" : "replay.loop_from")} ${clockText(us)}" .style=${`left:${part(us)}%`}
      aria-valuemin=${min} aria-valuemax=${max} aria-valuenow=${now[i]} aria-valuetext=${clockText(us)}
      @pointerdown=${(/** @type {PointerEvent} */ event) => this.#drag(event, i ? 1 : 0)}
      @pointermove=${(/** @type {PointerEvent} */ event) => this.#drag(event, i ? 1 : 0)}
      @keydown=${(/** @type {KeyboardEvent} */ event) => pressed(event, (by_us) => replay.moveLoop(i ? 1 : 0, us + by_us / 5))}></i>`);
  }

  #labels() {
    const [from_s, seconds] = [replay.first_us.value / 1e6, whole_us() / 1e6];
    const wanted = Math.max(2, Math.min(LABELS, Math.floor(this.width / 70)));
    const every = INTERVALS_S.find((one) => seconds / one <= wanted) ?? 3600;
    const first = Math.ceil(from_s / every);
    const instants = Array.from({ length: Math.floor((from_s + seconds) / every) + 1 - first }, (_, i) => (first + i) * every * 1e6);
    // At the end there may be no room for one.
    return instants.filter((us) => (1 - part(us) / 100) * this.width > LABEL_PX).map((us) => html`<span class="mono"
      .style=${`left:${part(us)}%`}>${clockText(us)}</span>`);
  }

  render() {
    const found = replay.manifest.value;
    if (!found) return "";
    const { audio, off_record, polls, questions } = found;
    const at = clockText(replay.at_us.value);
    const repeated = replay.loop.value;
    const [min, max, now] = [replay.first_us, replay.length_us, replay.at_us].map(({ value }) => Math.floor(value / 1e6));
    return html`<div class="whole"><div class="track" role="slider" tabindex="0" aria-label=${t("replay.class_time")}
        aria-valuemin=${min} aria-valuemax=${max} aria-valuenow=${now} aria-valuetext=${at}
        @pointerdown=${this.#scrub} @pointermove=${this.#scrub} @keydown=${seekByKey}>
        <svg width="100%" height=${HEIGHT} viewBox="0 0 ${this.width} ${HEIGHT}" preserveAspectRatio="none"
          aria-hidden="true">${this.#area()}</svg>
        ${this.#spans(replay.idle.value, "idle", t("replay.idle"))}${this.#spans(off_record, "off", t("replay.off_record"))}
        ${this.#spans(audio.lost, "lost", t("replay.lost"))}${this.#spans(replay.unplayed.value, "lost", t("replay.unplayed"))}
        ${repeated ? this.#spans([repeated], "loop", t("replay.loop")) : ""}
        ${questions.map((one) => html`<i class="dot question" title="${clockText(one.at_us)} ${one.text || t("replay.text_erased")}"
          .style=${`left:${part(one.at_us)}%`}></i>`)}
        ${polls.map((one) => html`<i class="dot poll" title="${clockText(one.at_us)} ${one.title}"
          .style=${`left:${part(one.at_us)}%`}></i>`)}
        ${lines.value.filter((line) => line.isAlarm).map((one) => html`<i class="alarm" title="${clockText(one.at_us)} ${one.text}"
          .style=${`left:${part(one.at_us)}%`}></i>`)}
        ${found.chapters.map((one, i) => html`<i class="flag" .style=${`left:${part(one.at_us)}%`} aria-hidden="true">${i + 1}</i>`)}
        <i class="head" .style=${`left:${part(replay.at_us.value)}%`} aria-hidden="true"></i></div>
        ${repeated ? this.#ends(repeated) : ""}</div>
      ${found.chapters.length ? html`<div class="chapter-row">${this.#chapters()}</div>` : ""}
      <div class="labels" aria-hidden="true">${this.#labels()}</div>`;
  }
}
customElements.define("hw-replay-bar", HwReplayBar);
