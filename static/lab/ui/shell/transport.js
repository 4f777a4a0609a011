// Time control: play, steps, speed, the clock, fork, bookmark.
import { clockText, durationText, fractionOfRate, rateAt, rateText } from "../../core/player/timemap.js";
import { isAlone, overlay } from "../store/api.js";
import { HwElement, html, icon, live, nothing } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { isNarrow } from "../store/room.js";
import { effect, front, moment, onShown, player, signal } from "../store/state.js";
import { goHome, goLive, pauseWhen, setRate, step, stepRpc, togglePaced, togglePlay, wantedRate } from "../store/time.js";

const SHAPES = {
  home: "M3 2v10H1.500V2zM12 2v10L4 7z",
  back: "M9.500 2.500v9L4 7z",
  play: "M3.500 1.800v10.400L12 7z",
  pause: "M3 2h3v10H3zM8 2h3v10H8z",
  event: "M4.500 2.500v9L10 7z",
  when: "M2 2h2.400v10H2zM6.200 2h2.400v10H6.200zM12 5.300a1.700 1.700 0 1 1 0 3.400 1.700 1.700 0 0 1 0-3.400z",
};
const TICKS = ["1/1000", "", "1/10", "1×", "", "100×"];

/** While time runs, the clock is updated at this interval: its last digits cannot be read anyway. */
const CLOCK_MS = 66;

/** Below this share of the chosen rate the reached one is shown beside it. */
const MIN_REACHED_SHARE = 0.9;

/** In narrow windows the slider is a popover. */
const speedOpen = signal(false);

/** @import { TemplateResult } from "lit" */
/** @import { Moment } from "../store/state.js" */
/** @import { Taken } from "../store/interactions.js" */

/**
 * A button of the transport: a shape or symbol, and its key in the tooltip.
 * @param {keyof typeof SHAPES | "step"} name
 * @param {string} label
 * @param {string} key
 * @param {() => unknown} action
 * @param {{ className?: string, takes?: Taken }} [more] `takes`: the right that it takes
 */
const button = (name, label, key, action, { className = "", takes } = {}) => html`
  <button class=${className} data-takes=${takes ?? nothing} title="${label} ( ${key} )" aria-label=${label} @click=${action}>
    ${name === "step" ? icon(name) : html`<svg width="14" height="14" viewBox="0 0 14 14" fill="currentColor" aria-hidden="true"><path
      d="${SHAPES[name]}"></path></svg>`}
  </button>`;

/**
 * A button with a symbol, a word and its key.
 * @param {string} name
 * @param {string} symbol
 * @param {Taken} takes the right that it takes
 * @param {string} label
 * @param {string} title
 * @param {string} key
 * @param {() => unknown} action
 */
const chip = (name, symbol, takes, label, title, key, action) => html`
  <button class="chip ${name}" data-takes=${takes} title="${title} ( ${key} )" @click=${action}>
    ${icon(symbol)}<span>${label}</span> <kbd>${key}</kbd></button>`;

/** @param {"fork" | "bookmark"} kind */
const opens = (kind) => () => (overlay.value = { kind });

class HwTransport extends HwElement {
  /** The texts that run with the player's frames: clock, microseconds, number of the event. @type {Text[]} */
  #texts = [];
  /** @type {ReturnType<typeof setTimeout> | 0} */
  #timer = 0;
  #written = 0;

  firstUpdated() {
    // The clock and the number run with the player's frames; only these texts are touched.
    this.#texts = [".clock span", ".clock small", ".number"].map((where) => {
      const text = new Text();
      this.querySelector(where)?.append(text);
      return text;
    });
    onShown(() => {
      const wait = player.mode === "play" ? CLOCK_MS - (performance.now() - this.#written) : 0;
      if (wait <= 0) this.tick();
      else this.#timer ||= setTimeout(() => this.tick(), wait);
    });
    effect(() => void (front.value && this.tick()));
  }

  tick() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#written = performance.now();
    const { clock, micros } = clockText(player.at_us);
    const words = [clock, `${micros} µs`, t("transport.event", { n: spaced(player.seq) })];
    this.#texts.forEach((text, i) => (text.data = words[i]));
  }

  /** @param {Moment} moment @returns {TemplateResult} */
  state({ mode, isPast, at_us, live_at_us, connection }) {
    /** @param {string} tone @param {string} sign @param {string} text @param {string} [title] */
    const tag = (tone, sign, text, title = "") => html`<span class="tag ${tone}" title=${title}>${sign} <span>${text}</span></span>`;
    if (connection === "lost") return tag("bad", "✕", t("transport.offline"));
    if (isAlone && mode === "pause") return tag("", "❚❚", t("transport.paused"));
    if (isPast && mode === "pause")
      return tag("select", "❚❚", t("transport.past", { ago: durationText(live_at_us - at_us) }), t("transport.past_title"));
    if (mode === "pause") return tag("warn", "❚❚", t("transport.paused"));
    if (mode === "event_paced") return tag("ok", "▶", t("transport.paced"));
    return tag("ok", "▶", t(isPast ? "transport.replaying" : "transport.playing"));
  }

  /** @param {Moment} moment */
  speed({ mode, rate, reachedRate }) {
    const shown = wantedRate.value ?? rate;
    const isSlow = mode === "play" && reachedRate !== null && shown === rate && reachedRate < MIN_REACHED_SHARE * rate;
    const text = html`<b class="mono">${rateText(shown)}</b>${isSlow ? html`
      <span class="mono reached" title=${t("transport.reached.title", { rate: rateText(rate) })}>${
        t("transport.reached", { rate: rateText(Number(reachedRate.toPrecision(2))) })}</span>` : ""}`;
    return html`<span class="speed-box ${isNarrow.value && speedOpen.value ? "open" : ""}">
      <button class="chip" title=${t("transport.speed")} aria-expanded=${speedOpen.value}
        @click=${() => (speedOpen.value = !speedOpen.value)}>${icon("clock")}${text}</button>
      <span class="speed">
        <span class="scale">
          <input type="range" min="0" max="1" step="0.005" data-takes="speed" .value=${live(String(fractionOfRate(shown)))}
            aria-label=${t("transport.speed")} aria-valuetext=${rateText(shown)} title="${t("transport.speed")} ( [ ] )"
            @input=${onValue((value) => setRate(rateAt(Number(value))))}>
          <span class="ticks" aria-hidden="true">${TICKS.map((tick) => html`<i>${tick}</i>`)}</span>
        </span>
        ${text}
      </span>
    </span>`;
  }

  render() {
    const now = moment.value;
    const runs = now.mode !== "pause";
    const title = t("transport.title");
    return html`<div class="tp" role="toolbar" aria-label=${title}>
      <span class="tbtn" role="group" aria-label=${title}>
        ${button("home", t("transport.home"), "Home", goHome)}
        ${button("back", t("transport.back"), ",", () => step(-1))}
        ${button(runs ? "pause" : "play", t(runs ? "transport.pause" : "transport.play"), "Space", togglePlay,
          { className: "play", takes: "time" })}
        ${button("event", t("transport.step_event"), ".", () => step(1), { takes: "time" })}
        ${button("step", t("transport.step_rpc"), "⏎", stepRpc, { takes: "time" })}
        ${isAlone ? "" : button("when", t("pause.title"), "U", () => (overlay.value = { kind: "pause" }), { takes: "live" })}
      </span>
      <span class="clock"><span></span> <small></small></span>
      ${this.state(now)}
      ${now.pauseWhen ? html`<button class="chip pause-when" data-takes="live" aria-pressed="true" title=${t("pause.clear")}
        @click=${() => pauseWhen("")}>
        ${icon("pause")}<span class="mono">${now.pauseWhen}</span> ✕</button>` : ""}
      ${now.isPast && !isAlone ? html`<button class="chip now" title="${t("transport.now_title")} ( End )" @click=${goLive}>
        ${icon("now")}${t("transport.now")}</button>` : ""}
      ${this.speed(now)}
      <button class="chip paced" data-takes="time" aria-pressed=${now.mode === "event_paced"} title="${t("transport.paced_title")} ( T )"
        @click=${togglePaced}>${icon("act")}<span>${t("transport.paced_short")}</span></button>
      <span class="spacer"></span>
      <span class="mono dim number"></span>
      ${isAlone ? "" : html`${chip("fork", "fork", "fork", t("transport.fork"), t("transport.fork_title"), "B", opens("fork"))}
      ${chip("mark-it", "pin", "mark", t("transport.bookmark"), t("transport.bookmark_title"), "M", opens("bookmark"))}`}
    </div>`;
  }
}
customElements.define("hw-transport", HwTransport);
