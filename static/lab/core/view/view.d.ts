// The view tree: what all events so far add up to. Made by broker_core/view; here are its shapes for the page.

export type Optional<T> = T | null;

export interface Run { name: string; seed: number; era: string; start_wall_ms: number }

/** A batch of a producer until it is acknowledged or given up; `size` in bytes. `state`: "sent", or what it waits for, until `due_us`
 *  (0: unknown). Batches of one `request` went together. `base_sequence` -1: it has no numbers. */
export interface ProducerBatch {
  partition: string; count: number; size: number;
  state: "linger" | "pause" | "metadata" | "in flight" | "producer id" | "transaction" | "numbers" | "sent";
  retries: number; since_us: number; due_us: number; error: string; leader: string; request: number; producer_epoch: number; base_sequence: number;
}
/** partition, key, rule, hash of the key, how many partitions */
export type PartitionChoice = [string, Optional<string>, "key" | "new" | "stays" | "next" | "random", Optional<number>, number];
export interface ProducerTransaction { state: string; transactional_id: string; producer_id: number; producer_epoch: number; why: string }
/** A transactional id as its coordinator knows it; `start_ms` -1: no transaction is open. */
export interface Transaction {
  transactional_id: string; coordinator: string; partition: string; state: string; since_us: number; producer_id: number;
  producer_epoch: number; timeout_ms: number; start_ms: number; partitions: string[]; why: string;
}
/** `previous`: the former owner of a partition, by the name of the client; `due_us` 0: the state does not wait. */
export interface Group {
  group: string; coordinator: string; partition: string; state: "Empty" | "PreparingRebalance" | "CompletingRebalance" | "Stable";
  since_us: number; due_us: number; generation_id: number; protocol: string; leader: string; why: string;
  members: Record<string, { client: string; instance: string; topics: string[]; assignment: string[] }>; offsets: Record<string, number>;
  previous: Record<string, string>;
  /** offset, leader epoch, metadata, when (ms); null: a tombstone */
  commits: Record<string, Optional<[number, number, string, number]>>;
  /** by producer id: what counts once its transaction is committed */
  pending: Record<string, Record<string, number>>;
}

interface NodeBase {
  state: "starting" | "up" | "frozen" | "down"; since_us: number; settings?: Record<string, string>; broker_id?: number;
  /** How many requests it has sent to ZooKeeper; the last ones: operation, path, result. */
  zk_requests: number; zk_last: Optional<{ at_us: number; count: number; requests: [string, string, string][] }>;
}
export interface BrokerNode extends NodeBase {
  kind: "broker"; broker_id: number; broker_epoch: number; session: Optional<number>; live_brokers: number[];
  disk_latency_us: number; fsync_latency_us: number;
  failure: Optional<{ file: string; position: number; rule: string; what: string }>;
}
export interface ZooKeeperNode extends NodeBase { kind: "zookeeper"; broker_id: -1 }
export interface ShellNode extends NodeBase { kind: "shell" }
export interface ProducerNode extends NodeBase {
  kind: "producer"; settings: Record<string, string>; partition: string; batches: Record<string, ProducerBatch>; rate: number; sent: number; acknowledged: number;
  failed: number; retried: number; last_offset: number; last_error: string; last_latency_us: number;
  choices: PartitionChoice[]; blocked: "" | "memory"; transaction: ProducerTransaction;
  /** by partition: epoch, the number that comes next */
  sequences: Record<string, [number, number]>;
}
/** offset, timestamp, key, value */
export type ConsumedRecord = [number, number, Optional<string>, Optional<string>];
export interface ConsumerNode extends NodeBase {
  kind: "consumer"; settings: Record<string, string>; partition: string; position: number; high_watermark: number;
  last_reset: string; records: ConsumedRecord[]; assignment?: string[]; positions: Record<string, number>;
  /** partition -> the node that its leader named to read from (KIP-392) */
  read_replicas: Record<string, string>;
  member?: { state: string; member_id: string; generation_id: number; why: string };
  /** Of the consumer of a pipeline. */
  pipeline?: { state: string; why: string; in_hand: number; handled: number; rewinds: number };
}
/** A connection by TCP. Settings: broker, host and, as soon as it has said so, client.id and software. */
export interface ClientNode extends NodeBase { kind: "client"; settings: Record<string, string> }
export type AnyNode = BrokerNode | ZooKeeperNode | ShellNode | ProducerNode | ConsumerNode | ClientNode;

/** `from`: whose messages do not pass, when only one way is cut. */
export interface Link { state: "cut" | "one way"; since_us: number; from?: string }
/** Of one direction; the key is "b1>b2". */
export interface LinkFault { latency_us: number; loss_percent: number; reorder_percent: number }
export interface Topic { topic_id: string; partitions: number; replication_factor: number }
export interface Partition {
  topic: string; partition: number; replicas: number[]; leader: number; leader_epoch: number; isr: number[];
  controller_epoch: number; partition_epoch: number;
}

/** `fates`: offset, fate, the offset that supersedes it (-1: none). `bytes`, `records`: before and after. */
export interface Cleaned {
  at_us: number; from: number; to: number; groups: { segment: number; bytes: number; sources: [number, number][] }[];
  bytes: [number, number]; records: [number, number]; counts: Record<string, number>; fates: [number, string, number][];
  delete_horizon_ms: number;
}
/** last_offset, leader_epoch, segment, position, size */
export type TailBatch = [number, number, number, number, number, number];
export interface Replica {
  partition: string; node: string; broker_id: number; role: "leader" | "follower" | "offline"; leader: number;
  leader_epoch: number; leader_epoch_start_offset: number; log_start_offset: number; log_end_offset: number;
  high_watermark: number; first_unstable_offset: number; isr: number[]; pending_isr: Optional<number[]>; partition_epoch: number;
  /** offset, COMMIT or ABORT, producer id, epoch, where the transaction began here (-1: it has written nothing) */
  markers: [number, "COMMIT" | "ABORT", number, number, number][];
  remotes: Record<string, { log_end_offset: number; last_caught_up_us: number }>;
  /** leader epoch, start offset */
  epochs: [number, number][];
  /** By base offset. */
  tail: Record<string, TailBatch>;
  /** By base offset: bytes of the .log, entries of the .index, entries of the .timeindex. */
  segments: Record<string, [number, number, number]>;
  cut: Optional<{ from: number; to: number; at_us: number; why: string }>;
  /** What the last pass of the cleaner did: offsets, segments with their sources, and the fate of each record. */
  cleaned: Optional<Cleaned>;
  /** By name: bytes, and when the file leaves the disk. */
  deleted_files: Record<string, [number, number]>;
  flushed: number;
  /** segments that the last start checked batch by batch */
  checked: number[];
  /** file, what was done (cut, deleted, rebuilt), position, bytes that went, the rule that it broke, digest of the bytes */
  repairs: [string, string, number, number, string, string][];
}

export interface Rpc {
  api: string; kind: "request" | "response" | "watch"; source: string; destination: string; sent_us: number; due_us: number;
  correlation: number; label: string; fields: [string, string | number][]; held: string;
}
export interface Parked {
  broker: string; api: string; client: string; partitions: string[]; needs: string; since_us: number; deadline_us: number;
}
/** `previous`: the data before the last change, null before the first; `session`: the one that an ephemeral znode dies with. */
export interface Znode {
  data: string; previous: Optional<string>; version: number; ephemeral: string; session: Optional<number>; czxid: number;
  zxid: number; at_us: number;
}
export interface ControllerEvent { seq: number; at_us: number; broker: number; name: string; about: string }
/** `cause` is a seq or 0; `setting` gave the guarantee away; `promise` is what a producer was told. */
export interface Alarm {
  invariant: string; subject: string; detail: string; detail_zh: string; explained_by: string; explained_by_zh: string;
  cause: number; promise: string; promise_zh: string; setting: string; at_us: number;
}
/** Acknowledged records that the leader lacks. `acks` -1: all; `committed`: how many of them were committed, which an alarm reports too. */
export interface Loss {
  partition: string; first_offset: number; count: number; leader: string; leader_epoch: number;
  acknowledged_by: string; acknowledged_seq: number; acks: number; why: "election" | "restart" | "deposed leader";
  committed: number; at_us: number;
}
export interface ConsoleEntry {
  line: string; source: string; state: "running" | "done"; exit_code: number; output: string[]; at_us: number;
}

export interface View {
  run: Run;
  nodes: Record<string, AnyNode>;
  links: Record<string, Link>;
  link_faults: Record<string, LinkFault>;
  topics: Record<string, Topic>;
  partitions: Record<string, Partition>;
  replicas: Record<string, Replica>;
  rpcs: Record<string, Rpc>;
  parked: Record<string, Parked>;
  zk: Record<string, Znode>;
  /** path, node that watches, what it watches */
  watches: Record<string, Record<string, ("data" | "children")[]>>;
  controller: { broker: number; controller_epoch: number };
  controller_partitions: Record<string, string>;
  controller_replicas: Record<string, string>;
  /** what the threads of controllers handled last, the newest last */
  controller_events: ControllerEvent[];
  checkpoints: Record<string, Record<string, { at_us: number; entries: [string, number][]; rule?: string }>>;
  alarms: Record<string, Alarm>;
  losses: Record<string, Loss>;
  /** those of a learner's own: name -> rules */
  assignors: Record<string, string>;
  /** by `group@broker`: a coordinator that has been replaced and does not know it has one, too */
  groups: Record<string, Group>;
  /** by `transactional id@broker`, as groups are */
  transactions: Record<string, Transaction>;
  /** logs that wait for their deletion, by folder; `files`: name -> bytes */
  deleted_logs: Record<string, { node: string; partition: string; files: Record<string, number>; due_us: number }>;
  console: Record<string, ConsoleEntry>;
}
