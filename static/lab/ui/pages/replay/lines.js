// What happened in the labs that were shown, as sentences: for readers without pictures, and to find an instant again.
import { signal } from "@preact/signals-core";
import { markWords } from "../../../core/recording/marks.js";
import { texts } from "../../kit/i18n.js";
import { source } from "./source.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Index } from "../../../core/recording/recording.js" */

/** Marks of these kinds are on the bar. */
const ALARMS = ["InvariantViolated", "LogTruncated", "BrokerStopped"];

/** By class time. @type {Signal<{ at_us: number, text: string, lang: string, tone: string, isAlarm: boolean }[]>} */
export const lines = signal([]);

/** Reads the marks of all labs. They are at the instants at which they were shown; what was not shown is not among them. */
export async function loadLines() {
  const labs = replay.manifest.peek()?.labs ?? [];
  // Of a passage, labs that it does not show have no address.
  const found = await Promise.all(labs.filter(({ address }) => address).map(async ({ n }) => {
    const answer = await source.fetch(`${replay.base}labs/${n}/index.json`);
    /** @type {Index} */
    const index = await answer.json();
    return answer.ok ? index.marks.flatMap((mark) => {
      const at_us = replay.classMap.classOf(n, mark.seq, mark.at_us);
      return at_us === null ? [] : [{ at_us, text: markWords(mark, texts), lang: "", tone: "event", isAlarm: ALARMS.includes(mark.kind) }];
    }) : [];
  }));
  lines.value = found.flat().sort((a, b) => a.at_us - b.at_us);
}
