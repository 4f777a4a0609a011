// The forms in which a producer or a member of a group is opened: their fields, and the line of the shell they make.

/** @import { View } from "../view/view.d.ts" */

/**
 * A field: Kafka's name of the setting, the option of the line, what may be chosen (or what may be written), and what the form proposes:
 * the default of Kafka 3.9. `unsaid`: what the line means without the option, where that is something else.
 * @typedef {{ name: string, option: string, choices?: string[], least?: number, value: string, unsaid?: string }} Field
 * @typedef {Record<string, string>} Values by the names of fields, and "client" for the node's own name
 */

/** @type {Field[]} */
const PRODUCER = [
  { name: "acks", option: "--acks", choices: ["all", "1", "0"], value: "all" },
  { name: "enable.idempotence", option: "--idempotence", choices: ["true", "false"], value: "true" },
  { name: "partitioner", option: "--partitioner", choices: ["built-in", "sticky", "round-robin", "random"], value: "built-in" },
  { name: "partitioner.ignore.keys", option: "--ignore-keys", choices: ["false", "true"], value: "false" },
  { name: "linger.ms", option: "--linger", least: 0, value: "0" },
  { name: "batch.size", option: "--batch-size", least: 0, value: "16384" },
  { name: "compression.type", option: "--compression", choices: ["none", "gzip", "snappy", "lz4", "zstd"], value: "none" },
  { name: "buffer.memory", option: "--buffer-memory", least: 0, value: "33554432" },
  { name: "max.in.flight.requests.per.connection", option: "--max-in-flight", least: 1, value: "5" },
  { name: "transactional.id", option: "--transactional-id", value: "" },
];

/** What producers did before Kafka 3.0, by era. @type {Record<string, Values>} */
const PRODUCER_OF_ERA = Object.fromEntries([["0.8", "random"], ["0.10", "round-robin"], ["1.1", "round-robin"], ["2.4", "sticky"]]
  .map(([era, partitioner]) => [era, { acks: "1", "enable.idempotence": "false", partitioner }]));

const DEFAULT_ASSIGNORS = "range,cooperative-sticky";

/** @type {Field[]} */
const MEMBER = [
  { name: "group.id", option: "--group", value: "g1", unsaid: "" },
  { name: "topics", option: "--topic", value: "", unsaid: "" },
  { name: "partition.assignment.strategy", option: "--assignor",
    choices: [DEFAULT_ASSIGNORS, "range", "roundrobin", "sticky", "cooperative-sticky"], value: DEFAULT_ASSIGNORS },
  { name: "group.instance.id", option: "--instance", value: "" },
  { name: "auto.offset.reset", option: "--reset", choices: ["latest", "earliest", "none"], value: "latest", unsaid: "earliest" },
  { name: "isolation.level", option: "--isolation", choices: ["read_uncommitted", "read_committed"], value: "read_uncommitted" },
  { name: "enable.auto.commit", option: "--auto-commit", choices: ["true", "false"], value: "true" },
  { name: "auto.commit.interval.ms", option: "--auto-commit-interval-ms", least: 1, value: "5000", unsaid: "500" },
  { name: "session.timeout.ms", option: "--session-timeout-ms", least: 1, value: "45000", unsaid: "6000" },
  { name: "heartbeat.interval.ms", option: "--heartbeat-interval-ms", least: 1, value: "3000", unsaid: "500" },
  { name: "max.poll.records", option: "--max-poll-records", least: 1, value: "500" },
  { name: "max.poll.interval.ms", option: "--max-poll-interval-ms", least: 1, value: "300000" },
  { name: "process", option: "--process-ms", least: 0, value: "0" },
];

/** @type {Values} */
const MEMBER_BEFORE_3 = { "partition.assignment.strategy": "range", "session.timeout.ms": "10000" };

/** Before 0.9 there was no group coordinator: the session is that with ZooKeeper. */
const MEMBER_OF_ZOOKEEPER = MEMBER.filter(({ option }) => ["--group", "--topic", "--assignor", "--reset", "--auto-commit",
  "--auto-commit-interval-ms", "--session-timeout-ms",
  "--process-ms"].includes(option)).map((field) => ({ "--assignor": { ...field, choices: ["range", "roundrobin"], value: "range" },
  "--auto-commit-interval-ms": { ...field, value: "60000" }, "--session-timeout-ms": { ...field, value: "6000" } }[field.option] ?? field));

/**
 * The fields of a form, as the run's era would have them filled in.
 * @param {"producer" | "member"} kind
 * @param {View} view
 * @returns {Field[]}
 */
export function fieldsOf(kind, view) {
  if (kind === "member" && view.run.era === "0.8") return MEMBER_OF_ZOOKEEPER;
  if (kind === "member") {
    const own = Object.keys(view.assignors);
    const usual = view.run.era in PRODUCER_OF_ERA ? MEMBER_BEFORE_3 : {};
    return MEMBER.map(({ value, unsaid = value, choices, ...field }) => ({
      ...field, unsaid, value: usual[field.name] ?? value, choices: field.option === "--assignor" ? [...(choices ?? []), ...own] : choices,
    }));
  }
  const usual = PRODUCER_OF_ERA[view.run.era] ?? {};
  return PRODUCER.map((field) => ({ ...field, value: usual[field.name] ?? field.value }));
}

/** A word of the shell, quoted when it has to be. @param {string} text */
export const word = (text) => (/^[\w.:@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The line that opens a client as the form says: options that would change nothing are left out.
 * @param {"producer" | "member"} kind @param {Field[]} fields @param {Values} values */
export function lineOf(kind, fields, values) {
  const said = fields.filter(({ name, value, unsaid }) => values[name] !== (unsaid ?? value))
    .map(({ name, option }) => `${option} ${word(values[name])}`);
  return [kind === "member" ? "consumer start" : "producer open", word(values.client), ...said].join(" ");
}
