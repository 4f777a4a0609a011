// Records of __consumer_offsets and __transaction_state (org.apache.kafka.coordinator.group.generated.*, TransactionLogKey and
// TransactionLogValue), in the versions that brokers write up to 3.9 without newer features switched on.
import { Reader, Unreadable } from "./bytes.js";

const TRANSACTION_STATES = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
  "PrepareEpochFence"];

/** @param {unknown} value */
const json = (value) => JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? Number(inner) : inner));

/** @template T @param {Reader} reader @param {() => T} read @returns {T[]} */
function list(reader, read) {
  const count = reader.int32();
  if (count > reader.left) throw new Unreadable("short", { n: count, left: reader.left });
  return Array.from({ length: Math.max(0, count) }, read);
}

/** @param {Reader} reader */
const partitions = (reader) => list(reader, () => ({ topic: reader.string(), partitions: list(reader, reader.int32) }));

/** ConsumerProtocolSubscription. @param {Uint8Array | null} bytes */
function subscription(bytes) {
  if (!bytes?.length) return null;
  const reader = new Reader(bytes);
  const version = reader.int16();
  const topics = list(reader, () => reader.string());
  reader.nullableBytes();
  return {
    topics,
    ...(version > 0 ? { ownedPartitions: partitions(reader) } : {}),
    ...(version > 1 ? { generationId: reader.int32() } : {}),
    ...(version > 2 ? { rackId: reader.string() } : {}),
  };
}

/** ConsumerProtocolAssignment. @param {Uint8Array | null} bytes */
function assignment(bytes) {
  if (!bytes?.length) return null;
  const reader = new Reader(bytes);
  reader.int16();
  return { assignedPartitions: partitions(reader) };
}

/** @param {Reader} reader @param {number} version */
function offsetCommit(reader, version) {
  const offset = reader.int64();
  const leaderEpoch = version > 2 ? { leaderEpoch: reader.int32() } : {};
  const rest = { metadata: reader.string(), commitTimestamp: reader.int64() };
  return { offset, ...leaderEpoch, ...rest, ...(version === 1 ? { expireTimestamp: reader.int64() } : {}) };
}

/** @param {Reader} reader @param {number} version */
function group(reader, version) {
  const protocolType = reader.string();
  const isConsumer = protocolType === "consumer";
  return {
    protocolType,
    generation: reader.int32(),
    protocol: reader.string(),
    leader: reader.string(),
    ...(version > 1 ? { currentStateTimestamp: reader.int64() } : {}),
    members: list(reader, () => ({
      memberId: reader.string(),
      ...(version > 2 ? { groupInstanceId: reader.string() } : {}),
      clientId: reader.string(),
      clientHost: reader.string(),
      ...(version > 0 ? { rebalanceTimeout: reader.int32() } : {}),
      sessionTimeout: reader.int32(),
      ...members(reader, isConsumer),
    })),
  };
}

/** @param {Reader} reader @param {boolean} isConsumer */
function members(reader, isConsumer) {
  const [subscribed, assigned] = [reader.nullableBytes(), reader.nullableBytes()];
  return isConsumer ? { subscription: subscription(subscribed), assignment: assignment(assigned) } : {};
}

/** @param {Reader} reader */
function transaction(reader) {
  const found = { producerId: reader.int64(), producerEpoch: reader.int16(), txnTimeoutMs: reader.int32(), state: reader.int8() };
  const topics = partitions(reader);
  return {
    ...found,
    state: TRANSACTION_STATES[found.state] ?? found.state,
    partitions: topics.flatMap(({ topic, partitions: ids }) => ids.map((id) => `${topic}-${id}`)),
    txnLastUpdateTimestamp: reader.int64(),
    txnStartTimestamp: reader.int64(),
  };
}

/** @typedef {"offsets" | "transactions" | "plain"} Meaning how the records of a topic are read */

/** The meaning of a topic's records, by the name of its partition's folder. @param {string} folder @returns {Meaning} */
export const meaningOf = (folder) =>
  /(^|\/)__consumer_offsets-\d+\/?$/.test(folder) ? "offsets" : /(^|\/)__transaction_state-\d+\/?$/.test(folder) ? "transactions" : "plain";

/**
 * @param {Exclude<Meaning, "plain">} meaning @param {Uint8Array | null} key @param {Uint8Array | null} value
 * @returns {{key: string, value: string | null} | null} JSON; null when the record is none of these
 */
export function coordinatorRecord(meaning, key, value) {
  if (!key) return null;
  try {
    const reader = new Reader(key);
    const version = reader.int16();
    const body = value && new Reader(value);
    const valueVersion = body ? body.int16() : -1;
    if (meaning === "transactions") {
      if (version !== 0 || valueVersion > 0) return null;
      return { key: json({ transactionalId: reader.string() }), value: body && json(transaction(body)) };
    }
    if (version > 2 || valueVersion > 3) return null;
    if (version === 2) return { key: json({ group: reader.string() }), value: body && json(group(body, valueVersion)) };
    const named = { group: reader.string(), topic: reader.string(), partition: reader.int32() };
    return { key: json(named), value: body && json(offsetCommit(body, valueVersion)) };
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}
