// The instructor's microphone: a test before class, then the sound of the class, recorded and sent.
import { signal } from "@preact/signals-core";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { SAMPLE_MS, VoiceSpans, levelOf } from "../../../core/sound/loudness.js";
import { Outbox } from "../../../core/sound/outbox.js";
import { SoundRecorder, recordedType } from "../../../core/sound/recorder.js";
import { SoundSender } from "../../../core/sound/sender.js";
import { act, classSlug, clockText, joined, refused, tree } from "../store.js";

/** @import { Signal } from "@preact/signals-core" */

const TEST_MS = 5000;
const VOICE_MS = 10_000;
const SLICE_S = 2;
const WANTED = { audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true } };

/** What the panel shows beside the class's own state. @type {Signal<{ level: number, test: "" | "hears" | "plays", problem: string,
 * waiting: number, offline: boolean, elsewhere: boolean }>} */
const state = signal({ level: 0, test: "", problem: "", waiting: 0, offline: false, elsewhere: false });
/**
 * An unchanged state is not set again: each new one redraws the panel, which asks for the state.
 * @param {Partial<typeof state.value>} changes
 */
function set(changes) {
  const next = { ...state.peek(), ...changes };
  if (JSON.stringify(next) !== JSON.stringify(state.peek())) state.value = next;
}

/** Why this page cannot record at all; empty if it can. */
function obstacle() {
  if (!isSecureContext) return "sound.no_tls";
  if (!navigator.mediaDevices?.getUserMedia || !recordedType(globalThis.MediaRecorder)) return "sound.no_recorder";
  return "";
}

/** An open microphone, which reports its loudness ten times a second. */
class Microphone {
  /** @param {MediaStream} stream @param {(level: number) => void} hear @param {() => void} [gone] called when it is taken away */
  constructor(stream, hear, gone = () => {}) {
    this.stream = stream;
    for (const track of stream.getTracks()) track.addEventListener("ended", gone);
    this.context = new AudioContext();
    const analyser = this.context.createAnalyser();
    analyser.fftSize = 2048;
    this.context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    this.timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      hear(levelOf(samples));
    }, SAMPLE_MS);
  }

  /**
   * Asks for the microphone; null with the reason shown.
   * @param {(level: number) => void} hear @param {() => void} [gone] @returns {Promise<Microphone | null>}
   */
  static async open(hear, gone) {
    try {
      return new Microphone(await navigator.mediaDevices.getUserMedia(WANTED), hear, gone);
    } catch (error) {
      const { name } = /** @type {DOMException} */ (error);
      set({ problem: name === "NotAllowedError" ? "sound.refused" : name === "NotFoundError" ? "sound.none" : "sound.busy" });
      return null;
    }
  }

  close() {
    clearInterval(this.timer);
    void this.context.close();
    for (const track of this.stream.getTracks()) track.stop();
    set({ level: 0 });
  }
}

/** The sound of the class from this page. */
class Recording {
  /** @type {Microphone | null} */
  #microphone = null;
  /** @type {SoundRecorder | null} */
  #recorder = null;
  #voice = new VoiceSpans();
  /** Passages with speech that the server did not get. @type {[number, number][]} */
  #untold = [];
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #telling;
  #isFirst = false;
  #isWanted = false;
  #isTurning = false;
  #address;
  #csrf;
  /** @type {Promise<SoundSender>} */
  sender;

  /** @param {string} slug @param {string} csrf */
  constructor(slug, csrf) {
    this.#csrf = csrf;
    this.#address = `/api/classes/${slug}/recording/audio/`;
    this.sender = Outbox.open(indexedDB, slug).then((outbox) => new SoundSender(outbox, this.#address, {
      csrf,
      fetch: (address, request) => fetch(address, request),
      now_ms: () => Date.now(),
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      told: ({ waiting, offline, refusal }) => {
        set({ waiting, offline });
        if (!refusal) return;
        refused.value = refusal;
        // Nothing that is recorded now could be kept.
        if (this.isOn) void act({ op: "set_microphone", on: false });
      },
      failed: () => void this.#giveUp("sound.not_kept"),
    }));
    addEventListener("pagehide", () => void this.#tellVoice(true));
    // Only one tab of a browser records and sends; when it is closed, the next one does.
    void navigator.locks.request(`highwater-sound ${slug}`, async () => {
      this.#isFirst = true;
      set({ elsewhere: false });
      void this.sender.then((sender) => sender.send(), () => {});
      void this.turn(this.#isWanted);
      return new Promise(() => {});
    });
  }

  get isOn() {
    return Boolean(this.#recorder);
  }

  /** Starts or stops recording. @param {boolean} on */
  async turn(on) {
    this.#isWanted = on;
    if (!this.#isFirst) set({ elsewhere: on });
    if (!this.#isFirst || this.#isTurning) return;
    this.#isTurning = true;
    try {
      while (this.#isWanted !== this.isOn) await (this.#isWanted ? this.#begin() : this.#end());
    } finally {
      this.#isTurning = false;
    }
  }

  async #begin() {
    set({ problem: "" });
    const clock = joined()?.clock;
    this.#microphone = clock ? await Microphone.open((level) => {
      set({ level });
      this.#voice.take(level, clock.us);
      // The browser ends the recorders, and nothing would say that the class is not recorded any more.
    }, () => void this.#giveUp("sound.gone")) : null;
    if (!this.#microphone || !clock) return this.#giveUp();
    const { stream } = this.#microphone;
    const fails = () => void (stream.active && this.#giveUp("sound.stopped"));
    const sender = await this.sender.catch(() => null);
    try {
      if (sender) this.#recorder = new SoundRecorder(stream, () => clock.us, sender.taker, MediaRecorder, fails);
    } catch {
      // Said below.
    }
    if (this.#recorder) {
      this.#telling = setInterval(() => void this.#tellVoice(false), VOICE_MS);
      return undefined;
    }
    this.#microphone.close();
    this.#microphone = null;
    return this.#giveUp(sender ? "sound.stopped" : "sound.not_kept");
  }

  /** Stops recording here: shows why, and switches the microphone of the class off. @param {string} [problem] unless it is shown already */
  async #giveUp(problem) {
    if (problem) set({ problem });
    this.#isWanted = false;
    await act({ op: "set_microphone", on: false });
  }

  async #end() {
    clearInterval(this.#telling);
    const recorder = this.#recorder;
    this.#recorder = null;
    await recorder?.stop();
    this.#microphone?.close();
    this.#microphone = null;
    await this.#tellVoice(true);
  }

  /** @param {boolean} ends */
  async #tellVoice(ends) {
    const spans = [...this.#untold.splice(0), ...this.#voice.spans(ends)];
    if (!spans.length) return;
    const headers = { "Content-Type": "application/json", "X-CSRFToken": this.#csrf };
    const request = { method: "POST", headers, body: JSON.stringify({ spans }), keepalive: true };
    const answer = await fetch(`${this.#address}voice`, request).catch(() => null);
    // Without them a replay that skips what is idle would skip what was said.
    if (!answer || answer.status >= 500) this.#untold.unshift(...spans);
  }
}

/** Five seconds of the microphone, then played back. */
async function test() {
  set({ problem: "", test: "hears" });
  const microphone = await Microphone.open((level) => set({ level }));
  if (!microphone) return set({ test: "" });
  const recorder = new MediaRecorder(microphone.stream, { mimeType: recordedType(MediaRecorder) });
  /** @type {Blob[]} */
  const parts = [];
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  const over = new Promise((resolve) => recorder.addEventListener("stop", resolve));
  recorder.start();
  setTimeout(() => recorder.stop(), TEST_MS);
  await over;
  microphone.close();
  set({ test: "plays" });
  const sound = new Audio(URL.createObjectURL(new Blob(parts, { type: recorder.mimeType })));
  const played = new Promise((resolve) => {
    sound.addEventListener("ended", resolve);
    sound.addEventListener("error", resolve);
  });
  await sound.play().then(() => played, () => set({ problem: "sound.no_playback" }));
  URL.revokeObjectURL(sound.src);
  set({ test: "" });
}

class HwMicrophone extends HwElement {
  /** @type {Recording | null} */
  #recording = null;

  /** Follows the class: whose microphone is on, and whether the class is on the record. */
  updated() {
    const { audio, recording, class: info, mine } = tree.peek();
    if (!audio || !mine || obstacle()) return;
    if (!this.#recording) {
      this.#recording = new Recording(classSlug.peek(), document.getElementById("class")?.dataset.csrf ?? "");
    }
    void this.#recording.turn(audio.p === joined()?.you?.p && Boolean(recording) && !info?.ended);
  }

  /** @param {number} level */
  #meter(level) {
    return html`<meter class="level" min="0" max="1" value=${Math.min(1, Math.sqrt(level) * 1.5)} aria-label=${t("sound.level")}></meter>`;
  }

  #mine() {
    const { level, waiting, offline, elsewhere } = state.value;
    const { recording } = tree.value;
    const told = elsewhere ? html`<span class="tag warn" role="status">${t("sound.elsewhere")}</span>`
      : recording ? html`<span class="tag bad">● ${t("sound.mark")}</span>${this.#meter(level)}`
        : html`<span class="tag warn" role="status">${t("sound.off_record")}</span>`;
    return html`${told}
      ${offline ? html`<span class="tag warn" role="status">${t("sound.waiting", { seconds: waiting * SLICE_S })}</span>` : ""}
      <button class="btn small" @click=${() => act({ op: "set_microphone", on: false })}>${t("sound.stop")}</button>`;
  }

  #offer() {
    const { level, test: testing } = state.value;
    if (testing) return html`<span role="status">${t(`sound.${testing}`)}</span>${testing === "hears" ? this.#meter(level) : ""}`;
    const { audio } = tree.value;
    const minutes = Number(document.getElementById("class")?.dataset.soundMinutes ?? 0);
    return html`${audio?.p ? html`<span class="tag bad">● ${t("sound.of", { name: audio.name })}</span>` : ""}
      <button class="btn small" @click=${test}>${t("sound.test")}</button>
      <button class="btn small" ?disabled=${!minutes} @click=${() => act({ op: "set_microphone", on: true })}>${
        t(audio?.p ? "sound.take" : "sound.record")}</button>
      <span class="dim">${minutes ? t("sound.room", { minutes }) : t("sound.no_room")}</span>`;
  }

  render() {
    const { audio, class: info } = tree.value;
    if (!audio || info?.ended) return "";
    const why = obstacle();
    const { problem } = state.value;
    const isMine = audio.p && audio.p === joined()?.you?.p;
    return html`<b>${t("sound.title")}</b>${why ? html`<span class="dim">${t(why)}</span>` : isMine ? this.#mine() : this.#offer()}
      ${problem ? html`<span class="tag bad" role="alert">${t(problem)}</span>` : ""}
      ${audio.arrived_us ? html`<span class="spacer"></span><span class="dim">${t("sound.arrived",
        { length: clockText(audio.arrived_us) })}</span>` : ""}
      ${audio.lost_us ? html`<span class="tag warn">${t("sound.lost", { seconds: Math.ceil(audio.lost_us / 1e6) })}</span>` : ""}`;
  }
}
customElements.define("hw-microphone", HwMicrophone);
