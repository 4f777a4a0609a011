// Readings of the view about alarms: which are explained, who had given the guarantee, and where to look first.

/** @import { Alarm, Loss, View } from "./view.d.ts" */

/**
 * @typedef {{ seq: number, alarm: Alarm }} NumberedAlarm
 * @typedef {{ seq: number, loss: Loss }} NumberedLoss
 * @typedef {"lab" | "controller" | "leader" | "isr" | "follower" | "coordinator" | "log"} Giver
 */

/** The component that guarantees an invariant. @type {Record<string, Giver>} */
const GIVERS = {
  "I-ORDER": "log", "I-LOGMONO": "log", "I-EPOCHCACHE": "log", "I-EPOCHMONO": "controller", "I-ONELEADER": "controller",
  "I-CTRL": "controller", "I-LEADERINISR": "controller", "I-ZKVER": "controller", "I-LOGMATCH": "follower",
  "I-WEAKISR": "isr", "I-STRONGISR": "isr", "I-COMMIT": "isr", "I-COMPLETE": "controller", "I-HWLEAD": "leader",
  "I-HWFOLL": "follower", "I-NOTRUNCBELOWHW": "follower", "I-EXPAND": "leader", "I-MINISR": "leader", "I-CONSUME": "leader",
  "I-SEQ": "leader", "I-LSO": "leader",
  "I-GROUP": "coordinator", "I-COOP": "coordinator", "I-INDEX": "log", "I-SEGNAME": "log", "I-CKPT": "log",
};

/** @param {string} invariant @returns {Giver} */
export const giverOf = (invariant) => GIVERS[invariant] ?? (invariant === "UNKNOWN_SERVER_ERROR" ? "lab" : "log");
export const INVARIANTS = Object.keys(GIVERS);

/**
 * The alarms in two lists, each by time: those that nothing explains, and the others.
 * @param {Pick<View, "alarms">} view
 * @returns {{ unexplained: NumberedAlarm[], explained: NumberedAlarm[] }}
 */
export function sortedAlarms(view) {
  const all = Object.entries(view.alarms).map(([seq, alarm]) => ({ seq: Number(seq), alarm })).sort((a, b) => a.seq - b.seq);
  return { unexplained: all.filter(({ alarm }) => !alarm.explained_by), explained: all.filter(({ alarm }) => alarm.explained_by) };
}

/**
 * Records that were acknowledged and lost.
 * @param {Pick<View, "losses">} view
 * @returns {{ losses: NumberedLoss[], records: number }}
 */
export function lostRecords(view) {
  const losses = Object.entries(view.losses).map(([seq, loss]) => ({ seq: Number(seq), loss })).sort((a, b) => a.seq - b.seq);
  return { losses, records: losses.reduce((sum, { loss }) => sum + loss.count, 0) };
}

/**
 * The last event at which the violation could still be avoided: the one before the probable cause, else before the violation,
 * which is stated right before its alarm.
 * @param {number} seq of the alarm @param {number} cause 0 when it is not known
 */
export function seqBefore(seq, cause) {
  return Math.max(1, (cause > 0 ? Math.min(cause, seq - 1) : seq - 1) - 1);
}

/** Each setting by itself. @param {string} setting @returns {string[]} */
export const settingsOf = (setting) => setting.split("; ").filter(Boolean);
