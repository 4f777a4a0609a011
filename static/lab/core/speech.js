// Announcements for screen readers: one sentence after the other, so that none is lost because another replaced it at once.
// A page has one polite and one assertive region; all announcements go through the one queue.

/** How long a sentence stays in its region, ms: a screen reader has noticed it by then. */
const SHOWN_MS = 400;

/** A text for a live region: the same text twice would not be announced twice. @param {string} before @param {string} text */
export const spoken = (before, text) => (text === before ? `${text}\u00a0` : text);

/**
 * @typedef {{ every_ms?: number, gather?: (sentences: string[]) => string }} Manner
 *   `every_ms`: between two sentences of the topic at least; of those that wait the newest is announced, or, with `gather`, one
 *   sentence that it makes of all of them
 * @typedef {{ sentences: string[], manner: Manner }} Waiting
 * @typedef {{ polite: (text: string) => void, assertive: (text: string) => void, now?: () => number,
 *             later?: (todo: () => void, ms: number) => unknown }} Regions
 */

export class Speech {
  #regions;
  #now;
  #later;
  /** By topic, in the order in which they are announced. @type {Map<string, Waiting>} */
  #waiting = new Map();
  /** When each topic was last announced. @type {Map<string, number>} */
  #heard = new Map();
  #free_ms = -Infinity;
  #timed = false;

  /** @param {Regions} regions */
  constructor(regions) {
    this.#regions = regions;
    this.#now = regions.now ?? (() => performance.now());
    this.#later = regions.later ?? ((todo, ms) => setTimeout(todo, ms));
  }

  /**
   * Says a sentence when its turn comes.
   * @param {string} topic what it is about: of each topic one sentence waits at most
   * @param {string} sentence
   * @param {Manner} [manner]
   */
  say(topic, sentence, manner = {}) {
    const before = manner.gather ? (this.#waiting.get(topic)?.sentences ?? []) : [];
    this.#waiting.set(topic, { sentences: [...before, sentence], manner });
    this.#next();
  }

  /** Announces it now, interrupting anything else. @param {string} sentence */
  interrupt(sentence) {
    this.#regions.assertive(sentence);
  }

  /** Drops the waiting sentences of a topic. @param {string} topic */
  forget(topic) {
    this.#waiting.delete(topic);
  }

  #next() {
    if (this.#timed) return;
    const now = this.#now();
    let due_ms = Infinity;
    for (const [topic, { sentences, manner }] of this.#waiting) {
      const at_ms = Math.max(this.#free_ms, (this.#heard.get(topic) ?? -Infinity) + (manner.every_ms ?? 0));
      due_ms = Math.min(due_ms, at_ms);
      if (at_ms > now) continue;
      this.#waiting.delete(topic);
      this.#heard.set(topic, now);
      this.#free_ms = now + SHOWN_MS;
      this.#regions.polite(manner.gather ? manner.gather(sentences) : sentences[sentences.length - 1]);
      due_ms = this.#free_ms;
      break;
    }
    if (!this.#waiting.size || due_ms === Infinity) return;
    this.#timed = true;
    this.#later(() => {
      this.#timed = false;
      this.#next();
    }, Math.max(0, due_ms - now));
  }
}
