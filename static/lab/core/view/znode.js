// A znode for display: its JSON in lines, what changed in it, its purpose. Reads; decides nothing.

const SEQUENCE = /^(.*?)(\d{10})$/;
const WIDEST = 64;

/**
 * What a path of Kafka's is for, as the key of its sentence; "" for others. The first pattern that fits counts.
 * @type {[RegExp, string][]}
 */
const KINDS = [
  [/^\/controller$/, "controller"],
  [/^\/controller_epoch$/, "controller_epoch"],
  [/^\/brokers\/ids$/, "ids"],
  [/^\/brokers\/ids\/\d+$/, "broker"],
  [/^\/brokers\/seqid$/, "seqid"],
  [/^\/brokers\/topics$/, "topics"],
  [/^\/brokers\/topics\/[^/]+$/, "topic"],
  [/^\/brokers\/topics\/[^/]+\/partitions\/\d+\/state$/, "state"],
  [/^\/isr_change_notification(\/|$)/, "isr_change"],
  [/^\/log_dir_event_notification(\/|$)/, "log_dir_event"],
  [/^\/admin\/delete_topics(\/|$)/, "delete_topics"],
  [/^\/admin\/reassign_partitions$/, "reassign"],
  [/^\/admin\/preferred_replica_election$/, "preferred"],
  [/^\/config\/changes(\/|$)/, "config_change"],
  [/^\/config\/(clients|users|ips)(\/|$)/, "quota"],
  [/^\/config\//, "config"],
  [/^\/cluster\/id$/, "cluster_id"],
  [/^\/latest_producer_id_block$/, "producer_ids"],
  [/^\/feature$/, "feature"],
];

/** What the znode is for, as the last part of a text's key; "" when it is none of Kafka's. @param {string} path @returns {string} */
export function kindOf(path) {
  return KINDS.find(([pattern]) => pattern.test(path))?.[1] ?? "";
}

/**
 * The name of a znode, and the number that ZooKeeper gave it when it is a sequential one.
 * @param {string} path
 * @returns {[string, string]}
 */
export function nameParts(path) {
  const name = path.slice(path.lastIndexOf("/") + 1) || "/";
  const found = SEQUENCE.exec(name);
  return found ? [found[1], found[2]] : [name, ""];
}

/** The partition whose state a path holds, or "". @param {string} path @returns {string} */
export function partitionAt(path) {
  const found = /^\/brokers\/topics\/([^/]+)\/partitions\/(\d+)\/state$/.exec(path);
  return found ? `${found[1]}-${found[2]}` : "";
}

/**
 * Data over several lines: JSON by its fields, short lists on one line; anything else as it is.
 * @param {string} data
 * @returns {string[]}
 */
export function dataLines(data) {
  if (!data) return [];
  try {
    const parsed = JSON.parse(data);
    return parsed !== null && typeof parsed === "object" ? jsonLines(parsed, "", "") : [data];
  } catch {
    return data.split("\n");
  }
}

/** @param {unknown} value @param {string} indent @param {string} head @returns {string[]} */
function jsonLines(value, indent, head) {
  const flat = JSON.stringify(value);
  if (value === null || typeof value !== "object") return [indent + head + flat];
  const short = flat.replaceAll(",", ", ");
  if (indent && !hasObject(value) && short.length <= WIDEST) return [indent + head + short];
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (!entries.length) return [indent + head + flat];
  const inner = entries.flatMap(([key, one], at) => {
    const lines = jsonLines(one, `${indent}  `, isList ? "" : `${JSON.stringify(key)}: `);
    if (at < entries.length - 1) lines[lines.length - 1] += ",";
    return lines;
  });
  return [indent + head + (isList ? "[" : "{"), ...inner, indent + (isList ? "]" : "}")];
}

/** @param {object} value */
function hasObject(value) {
  return Object.values(value).some((one) => one !== null && typeof one === "object" && !Array.isArray(one));
}

/**
 * @typedef {{ mark: " " | "+" | "-", text: string }} DiffLine
 *
 * Lines of `after`, and between them the removed ones of `before`: the longest common subsequence is kept. A comma that
 * was added or removed at a line's end is not a change.
 * @param {string[]} before @param {string[]} after @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const bare = (/** @type {string} */ line) => line.replace(/,$/, "");
  const a = before.map(bare);
  const b = after.map(bare);
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  /** @type {DiffLine[]} */
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: " ", text: after[j] });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || common[i + 1][j] >= common[i][j + 1])) lines.push({ mark: "-", text: before[i++] });
    else lines.push({ mark: "+", text: after[j++] });
  }
  return lines;
}
