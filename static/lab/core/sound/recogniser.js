// Speech recognition of the browser on this machine. Recognition by a service elsewhere is never used: where the browser cannot
// promise that, nothing is offered. Source: Web Speech API, processLocally and available().

/**
 * What this code uses of SpeechRecognition.
 * @typedef {{ lang: string, continuous: boolean, interimResults: boolean, processLocally: boolean, start: () => void, stop: () => void,
 *   onresult: ((event: { resultIndex: number, results: ArrayLike<{ isFinal: boolean, 0: { transcript: string } }> }) => void) | null,
 *   onerror: ((event: { error: string }) => void) | null, onend: (() => void) | null }} Recognition
 * @typedef {{ new (): Recognition, prototype: Recognition,
 *   available?: (asked: { langs: string[], processLocally: boolean }) => Promise<string> }} RecognitionType
 * @typedef {{ from_us: number, to_us: number, text: string }} Spoken
 */

const TAGS = { en: "en-US", "zh-CN": "zh-CN" };
/** Headless Chromium has the interface without the service behind it: asking for it ends the page. */
const isHeadless = /\bHeadlessChrome\//.test(globalThis.navigator?.userAgent ?? "");
/** Errors after which recognition continues when it is restarted. */
const PASSING = ["no-speech", "aborted"];

/**
 * Whether a browser recognises a language on this machine now.
 * @param {RecognitionType | undefined} type
 * @param {"en" | "zh-CN"} language
 */
export async function recognises(type, language) {
  if (isHeadless || !type?.available || !("processLocally" in type.prototype)) return false;
  try {
    return (await type.available({ langs: [TAGS[language]], processLocally: true })) === "available";
  } catch {
    return false;
  }
}

export class Recogniser {
  #recognition;
  #now_us;
  /** When a sentence was first heard, by its index. @type {Map<number, number>} */
  #began_us = new Map();
  #isOn = true;

  /**
   * Begins to listen.
   * @param {RecognitionType} type
   * @param {"en" | "zh-CN"} language
   * @param {() => number} now_us class time
   * @param {(spoken: Spoken) => void} hear is called with a complete sentence
   * @param {(why: string) => void} ends is called with the reason for which the browser stopped; empty when it was requested
   */
  constructor(type, language, now_us, hear, ends) {
    this.#now_us = now_us;
    const recognition = (this.#recognition = new type());
    Object.assign(recognition, { lang: TAGS[language], continuous: true, interimResults: true, processLocally: true });
    recognition.onresult = ({ resultIndex, results }) => {
      for (let i = resultIndex; i < results.length; i++) this.#take(i, results[i], hear);
    };
    recognition.onerror = ({ error }) => {
      if (PASSING.includes(error)) return;
      this.#isOn = false;
      ends(error);
    };
    // A browser ends by itself after a pause.
    recognition.onend = () => {
      this.#began_us.clear();
      if (this.#isOn) recognition.start();
    };
    recognition.start();
  }

  /** @param {number} index @param {{ isFinal: boolean, 0: { transcript: string } }} result @param {(spoken: Spoken) => void} hear */
  #take(index, result, hear) {
    const began_us = this.#began_us.get(index) ?? this.#now_us();
    this.#began_us.set(index, began_us);
    const text = result[0].transcript.trim();
    if (result.isFinal && text) hear({ from_us: began_us, to_us: this.#now_us(), text });
  }

  stop() {
    this.#isOn = false;
    this.#recognition.stop();
  }
}
