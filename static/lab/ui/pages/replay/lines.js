// Events of the labs that were shown, as sentences: for screen readers, and to find an instant.
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

/** Reads the marks of all labs, at the instants at which they were shown; marks that were not shown are left out. */
export async function loadLines() {
  const labs = replay.manifest.peek()?.labs ?? [];
  // In a passage, labs that are not shown have no address.
  const found = await Promise.all(labs.filter(({ address }) => address).map(async ({ n }) => {
    const answer = await source.fetch(`${replay.base}labs/${n}/index.json`);
    /** @type {Index} */
    const index = await answer.json();
    return answer.ok ? index.marks.flatMap((mark) => {
      const at_us = replay.classMap.classOf(n, mark.seq, mark.at_us);
      const isAlarm = ALARMS.includes(mark.kind);
      return at_us === null ? [] : [{ at_us, text: markWords(mark, texts), lang: "", tone: isAlarm ? "alarm" : "event", isAlarm }];
    }) : [];
  }));
  lines.value = found.flat().sort((a, b) => a.at_us - b.at_us);
}
