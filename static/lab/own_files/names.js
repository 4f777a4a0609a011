// What a file of a log directory is, by its name (LogFileUtils, LogLoader, CheckpointFile).

/** @typedef {"log" | "index" | "timeindex" | "txnindex" | "snapshot" | "epochs" | "offsets" | "properties" | "foreign"} Kind */

const SEGMENT = /^(.*?)\.(log|index|timeindex|txnindex|snapshot)(\.deleted|\.cleaned|\.swap)?$/;
const BASE = /^\d{20}$/;
/** @type {Record<string, Kind>} */
const BY_NAME = {
  "leader-epoch-checkpoint": "epochs",
  "replication-offset-checkpoint": "offsets",
  "recovery-point-offset-checkpoint": "offsets",
  "log-start-offset-checkpoint": "offsets",
  "cleaner-offset-checkpoint": "offsets",
  "partition.metadata": "properties",
  "meta.properties": "properties",
  ".kafka_cleanshutdown": "properties",
};

/**
 * @param {string} name without its folder
 * @returns {{kind: Kind, base: number | null, stem: string, state: string}} base: null if the name is not a base offset; state:
 *   deleted, cleaned, swap or ""
 */
export function nameOf(name) {
  const match = SEGMENT.exec(name);
  if (!match) return { kind: BY_NAME[name] ?? "foreign", base: null, stem: name, state: "" };
  const [, stem, kind, state = ""] = match;
  return { kind: /** @type {Kind} */ (kind), base: BASE.test(stem) ? Number(stem) : null, stem: stem + state, state: state.slice(1) };
}
