// Playback controls of the replay: play, steps, clock, speed, idle, loop, captions.
import { HwElement, html } from "../../kit/element.js";
import { onValue } from "../../kit/events.js";
import { t } from "../../kit/i18n.js";
import { clockText } from "../../classroom/store.js";
import { captionChoice } from "./captions.js";
import { helpShown } from "./help.js";
import { write } from "./instants.js";
import { saveButton } from "./save.js";
import { lab, step } from "./stage.js";
import * as replay from "./store.js";

const SHAPES = {
  back: "M9.500 2.500v9L4 7z", play: "M3.500 1.800v10.400L12 7z", pause: "M3 2h3v10H3zM8 2h3v10H8z", event: "M4.500 2.500v9L10 7z",
  skip: "M2 2.500v9L6.500 7zM7 2.500v9L11.500 7zM12 2.500h1.500v9H12z", home: "M3 2v10H1.500V2zM12 2v10L4 7z",
  rpc: "M1 2.500v9L6.500 7zM8 6.200h2.800L9.400 4.800l1-1L13.500 7l-3.100 3.200-1-1 1.400-1.400H8z",
};

/** @param {keyof typeof SHAPES} shape @param {string} [look] */
const drawn = (shape, look = "") => html`<svg class=${look} width="14" height="14" viewBox="0 0 14 14" fill="currentColor"
  aria-hidden="true"><path d=${SHAPES[shape]}></path></svg>`;

/**
 * @param {keyof typeof SHAPES} shape
 * @param {string} label
 * @param {string} key
 * @param {() => unknown} action
 * @param {boolean} [off]
 * @param {string} [look]
 */
const button = (shape, label, key, action, off = false, look = "") => html`<button class=${look} title="${label} ( ${key} )"
  aria-label=${label} ?disabled=${off} @click=${action}>${drawn(shape)}</button>`;

/** Seeks to the previous or next chapter. @param {1 | -1} direction */
export function toChapter(direction) {
  const chapters = replay.manifest.peek()?.chapters ?? [];
  const begins = [replay.first_us.peek(), ...chapters.map((chapter) => chapter.at_us), replay.length_us.peek()];
  const now = replay.atNow();
  const next = direction > 0 ? begins.find((begin) => begin > now + 1) : begins.findLast((begin) => begin < now - 2e6);
  if (next !== undefined) void replay.seek(next);
}

class HwReplayTransport extends HwElement {
  render() {
    const none = lab.value === null;
    const { manifest, playing, speed, skips, loop } = replay;
    if (!manifest.value) return "";
    const saves = replay.savedUs.value < 1e6 ? "" : t("replay.saves", { time: clockText(replay.savedUs.value) });
    return html`<div class="buttons" role="group" aria-label=${t("replay.playing")}>
        ${button("home", t("replay.start"), "Home", () => void replay.seek(0))}
        ${button("back", t("replay.event_back"), ",", () => step(-1), none)}
        ${button(playing.value ? "pause" : "play", t(playing.value ? "transport.pause" : "transport.play"), "Space",
          () => replay.play(!playing.peek()), false, "go")}
        ${button("event", t("replay.event_on"), ".", () => step(1), none)}
        ${button("rpc", t("replay.message_on"), "Enter", () => step("rpc"), none)}</div>
      <span class="clock mono">${clockText(replay.at_us.value)} <small>/ ${clockText(replay.length_us.value)}</small></span>
      ${manifest.value.live ? html`<span class="dim">${t("replay.behind",
        { time: clockText(replay.behind_us.value) })}</span>
        <button class="chip" title=${t("replay.to_now_title")} @click=${replay.toNow}>${t("replay.to_now")}</button>` : ""}
      <div class="seg" role="group" aria-label=${t("replay.speed")}>${replay.SPEEDS.map((one) => html`<button
        aria-pressed=${speed.value === one} @click=${() => replay.setSpeed(one)}>${one}×</button>`)}</div>
      <select class="chip speeds" aria-label=${t("replay.speed")} @change=${onValue((to) => replay.setSpeed(Number(to)))}>
        ${replay.SPEEDS.map((one) => html`<option value=${one} .selected=${speed.value === one}>${one}×</option>`)}</select>
      <button class="chip" aria-pressed=${skips.value}
        title="${t("replay.skip_idle")} ${saves}" @click=${replay.toggleSkips}>${drawn("skip", "narrow")}<span
          class="wide">${t("replay.skip_idle")}</span>${saves ? html` <span class="dim wide">${saves}</span>` : ""}</button>
      <button class="chip" aria-pressed=${loop.value !== null} title=${t("replay.loop_title")}
        @click=${replay.toggleLoop}>⟲ <span class="wide">${t("replay.loop")}</span></button>
      <span class="spacer"></span>
      ${captionChoice()}
      ${manifest.value.can.note ? html`<button class="chip" title="${t("replay.note")} ( N )"
        @click=${() => write("notes")}>＋ <span class="wide">${t("replay.note")} <kbd>N</kbd></span></button>` : ""}
      <button class="chip keys" title="${t("help.title")} ( ? )" aria-label=${t("help.title")}
        @click=${() => (helpShown.value = true)}>?</button>
      ${saveButton()}
      ${manifest.value.audio.pieces.length ? "" : html`<span class="dim">${t("replay.no_voice")}</span>`}
      ${replay.unplayed.value.length ? html`<span class="tag warn unplayed" role="status">${t("replay.unplayed_at",
        { n: replay.unplayed.value.length, at: clockText(replay.unplayed.value[0][0]) })}</span>` : ""}`;
  }
}
customElements.define("hw-replay-transport", HwReplayTransport);
