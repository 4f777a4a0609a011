// Written by `manage.py gen_events` from broker_core/events. Do not change it by hand.

// client
export interface RecordsGathered {
  client: string;
  partition: string;
  sequence: number;
  count: number;
  size: number;
  why: string;
  due_us: number;
}
export interface RecordPartitioned {
  client: string;
  partition: string;
  key: string | null;
  rule: string;
  key_hash: number | null;
  partition_count: number;
}
export interface ProducerBlocked {
  client: string;
  why: string;
}
export interface ProducerUnblocked {
  client: string;
}
export interface ProduceStarted {
  client: string;
  partition: string;
  sequence: number;
  count: number;
  acks: number;
  size: number;
  leader: string;
  request: number;
  producer_id: number;
  producer_epoch: number;
  base_sequence: number;
}
export interface ProduceRepeated {
  client: string;
  partition: string;
  sequence: number;
  count: number;
  attempt: number;
  leader: string;
  request: number;
  producer_id: number;
  producer_epoch: number;
  base_sequence: number;
}
export interface ProduceAcknowledged {
  client: string;
  partition: string;
  sequence: number;
  base_offset: number;
  count: number;
  acks: number;
  latency_us: number;
}
export interface ProduceFailed {
  client: string;
  partition: string;
  sequence: number;
  count: number;
  acks: number;
  error: string;
  message: string;
}
export interface ProduceRetried {
  client: string;
  partition: string;
  sequence: number;
  error: string;
  due_us: number;
}
export interface BatchSplit {
  client: string;
  partition: string;
  sequence: number;
  count: number;
  size: number;
  parts: [number, number, number][];
}
export interface ProducerStreamChanged {
  client: string;
  partition: string;
  rate: number;
  is_topic: boolean;
}
export interface RecordsConsumed {
  client: string;
  partition: string;
  position: number;
  high_watermark: number;
  records: ([number, number, string | null, string | null])[];
}
export interface ConsumerPositionReset {
  client: string;
  partition: string;
  from_offset: number;
  to_offset: number;
  why: string;
}
export interface ReadReplicaNamed {
  client: string;
  partition: string;
  replica: string;
  leader: string;
  leader_epoch: number;
  due_us: number;
}
export interface ReadReplicaCleared {
  client: string;
  partition: string;
  replica: string;
  why: string;
}
export interface AcknowledgedRecordsLost {
  partition: string;
  first_offset: number;
  count: number;
  leader: string;
  leader_epoch: number;
  acknowledged_by: string;
  acknowledged_seq: number;
  acks: number;
  why: string;
  committed: number;
}

// console
export interface CommandReceived {
  command: number;
  line: string;
  source: string;
}
export interface CommandPrinted {
  command: number;
  lines: string[];
}
export interface CommandCompleted {
  command: number;
  exit_code: number;
}

// control
export interface SessionOpened {
  session: number;
  owner: string;
}
export interface SessionClosed {
  session: number;
  owner: string;
  why: string;
}
export interface ZooKeeperAsked {
  client: string;
  count: number;
  requests: [string, string, string][];
}
export interface ZnodeCreated {
  path: string;
  data: string;
  zxid: number;
  ephemeral_owner: string;
}
export interface ZnodeChanged {
  path: string;
  data: string;
  version: number;
  zxid: number;
}
export interface ZnodeDeleted {
  path: string;
  zxid: number;
}
export interface WatchArmed {
  owner: string;
  path: string;
  of: string;
}
export interface WatchFired {
  owner: string;
  path: string;
  change: string;
}
export interface ControllerEventProcessed {
  broker: number;
  name: string;
  about: string;
}
export interface ControllerElected {
  broker: number;
  controller_epoch: number;
}
export interface ControllerResigned {
  broker: number;
  why: string;
}
export interface PartitionStateChanged {
  partition: string;
  from_state: string;
  state: string;
  controller: string;
}
export interface ReplicaStateChanged {
  replica: string;
  from_state: string;
  state: string;
  controller: string;
}
export interface LeaderElected {
  partition: string;
  leader: number;
  leader_epoch: number;
  isr: number[];
  strategy: string;
  unclean: boolean;
}
export interface ConfigurationApplied {
  broker: string;
  entity: string;
  configs: [string, string][];
}
export interface MetadataUpdated {
  broker: string;
  controller: number;
  live_brokers: number[];
  partitions: number;
}

// group
export interface GroupsLoadStarted {
  broker: string;
  partition: string;
  leader_epoch: number;
}
export interface GroupsLoaded {
  broker: string;
  partition: string;
  group_count: number;
  offset_count: number;
  leader_epoch: number;
}
export interface GroupsUnloaded {
  broker: string;
  partition: string;
  groups: string[];
}
export interface GroupTransitioned {
  broker: string;
  group: string;
  partition: string;
  from_state: string;
  to_state: string;
  generation_id: number;
  protocol: string;
  leader: string;
  why: string;
  protocol_type: string;
  timestamp_ms: number;
  due_us: number;
}
export interface GroupMemberAdded {
  broker: string;
  group: string;
  member: string;
  client: string;
  instance: string;
  client_host: string;
  protocol_type: string;
  rebalance_timeout_ms: number;
  session_timeout_ms: number;
  protocols: [string, string][];
  is_nameless: boolean;
}
export interface GroupMemberUpdated {
  broker: string;
  group: string;
  member: string;
  rebalance_timeout_ms: number;
  session_timeout_ms: number;
  protocols: [string, string][];
}
export interface GroupMemberReplaced {
  broker: string;
  group: string;
  old_member: string;
  member: string;
  client: string;
  instance: string;
}
export interface GroupMemberRemoved {
  broker: string;
  group: string;
  member: string;
  why: string;
}
export interface GroupAssigned {
  broker: string;
  group: string;
  generation_id: number;
  assignments: [string, string[]][];
  data: string[];
}
export interface OffsetCommitAccepted {
  broker: string;
  group: string;
  member: string;
  generation_id: number;
  offsets: [string, number][];
}
export interface OffsetCommitted {
  broker: string;
  group: string;
  partition: string;
  offset: number;
  leader_epoch: number;
  metadata: string;
  commit_timestamp_ms: number;
  expire_timestamp_ms: number;
}
export interface OffsetRemoved {
  broker: string;
  group: string;
  partition: string;
  why: string;
}
export interface PipelineStageChanged {
  client: string;
  state: string;
  in_hand: number;
  why: string;
  handled: number;
  rewinds: boolean;
}
export interface ConsumerStateChanged {
  client: string;
  state: string;
  member_id: string;
  generation_id: number;
  why: string;
}
export interface ConsumerAssigned {
  client: string;
  partitions: string[];
  revoked: string[];
}
export interface TransactionalOffsetPending {
  broker: string;
  group: string;
  producer_id: number;
  partition: string;
  offset: number;
  leader_epoch: number;
  metadata: string;
  commit_timestamp_ms: number;
}
export interface TransactionalOffsetsDecided {
  broker: string;
  group: string;
  producer_id: number;
  result: string;
}
export interface AssignorDefined {
  assignor: string;
  rules: string;
}
export interface AssignmentPlanned {
  client: string;
  group: string;
  assignor: string;
  generation_id: number;
  twice: string[];
  nobody: string[];
  strangers: string[];
}

// log
export interface LogOpened {
  replica: string;
  topic_id: string;
  log_start_offset: number;
  log_end_offset: number;
  high_watermark: number;
  recovery_point: number;
  epochs: [number, number][];
  segments: [number, number, number, number][];
  tail: number[][];
  synced: [number, number, number, number][];
}
export interface BatchAppended {
  replica: string;
  base_offset: number;
  last_offset: number;
  leader_epoch: number;
  segment: number;
  position: number;
  size: number;
  max_timestamp: number;
  crc: number;
}
export interface RefusedAppendWritten {
  replica: string;
  segment: number;
  size: number;
  index_entries: number;
  time_index_entries: number;
}
export interface SegmentRolled {
  replica: string;
  segment: number;
  previous_segment: number;
  previous_size: number;
}
export interface OffsetIndexEntryAdded {
  replica: string;
  segment: number;
  offset: number;
  position: number;
}
export interface TimeIndexEntryAdded {
  replica: string;
  segment: number;
  timestamp: number;
  offset: number;
}
export interface LogTruncated {
  replica: string;
  from_offset: number;
  to_offset: number;
  why: string;
  cuts: [string, number, number, string][];
  segments: [number, number, number, number][];
  tail: number[][];
  synced: [number, number, number, number][];
}
export interface LogStartOffsetIncremented {
  replica: string;
  from_offset: number;
  to_offset: number;
  why: string;
}
export interface SegmentsDeleted {
  replica: string;
  segments: number[];
  why: string;
}
export interface RetentionFailed {
  replica: string;
  why: string;
}
export interface FilesMarkedDeleted {
  replica: string;
  count: number;
  files: [string, number][];
  due_us: number;
  cuts: [string, number, number, string][];
}
export interface FilesUnlinked {
  broker: string;
  folder: string;
  count: number;
  cuts: [string, number, number, string][];
}
export interface LogCleaned {
  replica: string;
  from_offset: number;
  to_offset: number;
  groups: [number, [number, number][]][];
  bytes_before: number;
  bytes_after: number;
  records_before: number;
  records_after: number;
  counts: [string, number][];
  fates: [number, string, number][];
  keys: number;
  empty_batches: number;
  delete_horizon_ms: number;
  cuts: [string, number, number, string][];
  segments: [number, number, number, number][];
  tail: number[][];
  synced: [number, number, number, number][];
}
export interface LogUncleanable {
  replica: string;
  why: string;
}
export interface SegmentChecked {
  replica: string;
  segment: number;
  size: number;
}
export interface LogRepaired {
  replica: string;
  file: string;
  repair: string;
  position: number;
  length: number;
  rule: string;
  digest: string;
}
export interface CheckpointReset {
  broker: string;
  file: string;
  rule: string;
}
export interface LogDirectoryFailed {
  broker: string;
  file: string;
  position: number;
  rule: string;
  what: string;
}
export interface LeaderEpochsChanged {
  replica: string;
  entries: [number, number][];
}
export interface LogFlushed {
  replica: string;
  offset: number;
  segments: number[];
}
export interface PowerLost {
  broker: string;
  byte_count: number;
  cuts: [string, number, number, string][];
}
export interface CheckpointWritten {
  broker: string;
  file: string;
  entries: [string, number][];
}
export interface LogClosed {
  replica: string;
  clean: boolean;
}
export interface LogDeleted {
  replica: string;
  folder: string;
  files: [string, number][];
  due_us: number;
}

// replica
export interface ReplicaBecameLeader {
  replica: string;
  leader_epoch: number;
  leader_epoch_start_offset: number;
  partition_epoch: number;
  controller_epoch: number;
  isr: number[];
  remotes: [number, number, number][];
}
export interface ReplicaBecameFollower {
  replica: string;
  leader: number;
  leader_epoch: number;
  partition_epoch: number;
  controller_epoch: number;
}
export interface ReplicaWentOffline {
  replica: string;
}
export interface HighWatermarkAdvanced {
  replica: string;
  from_offset: number;
  to_offset: number;
}
export interface HighWatermarkLowered {
  replica: string;
  from_offset: number;
  to_offset: number;
}
export interface RemoteReplicaUpdated {
  replica: string;
  follower: string;
  from_offset: number;
  log_end_offset: number;
  last_caught_up_us: number;
}
export interface IsrChangeProposed {
  replica: string;
  isr: number[];
}
export interface IsrShrunk {
  replica: string;
  from_isr: number[];
  to_isr: number[];
  partition_epoch: number;
}
export interface IsrExpanded {
  replica: string;
  from_isr: number[];
  to_isr: number[];
  partition_epoch: number;
}
export interface IsrChangeRefused {
  replica: string;
  isr: number[];
  error: string;
}
export interface FetcherFailed {
  replica: string;
  leader: number;
  why: string;
}

// rpc
export interface RpcSent {
  rpc: string;
  api: string;
  kind: string;
  source: string;
  destination: string;
  due_us: number;
  correlation: number;
  label: string;
  fields: ([string, string | number])[];
}
export interface RpcDelivered {
  rpc: string;
  destination: string;
}
export interface RpcDropped {
  rpc: string;
  why: string;
}
export interface RpcHeld {
  rpc: string;
  why: string;
}
export interface RpcRescheduled {
  rpc: string;
  due_us: number;
}

// transaction
export interface ProducerIdsAllocated {
  broker: string;
  first: number;
  last: number;
}
export interface TransactionsLoadStarted {
  broker: string;
  partition: string;
  leader_epoch: number;
}
export interface TransactionsLoaded {
  broker: string;
  partition: string;
  count: number;
  leader_epoch: number;
}
export interface TransactionsUnloaded {
  broker: string;
  partition: string;
  transactional_ids: string[];
}
export interface TransactionTransitioned {
  broker: string;
  transactional_id: string;
  log_partition: string;
  from_state: string;
  to_state: string;
  producer_id: number;
  producer_epoch: number;
  last_producer_epoch: number;
  previous_producer_id: number;
  timeout_ms: number;
  partitions: string[];
  start_ms: number;
  update_ms: number;
  why: string;
}
export interface ProducerBatchAppended {
  replica: string;
  producer_id: number;
  producer_epoch: number;
  first_sequence: number;
  last_sequence: number;
  base_offset: number;
  last_offset: number;
  is_transactional: boolean;
}
export interface TransactionMarkerAppended {
  replica: string;
  producer_id: number;
  producer_epoch: number;
  coordinator_epoch: number;
  offset: number;
  result: string;
  first_offset: number;
}
export interface FirstUnstableOffsetChanged {
  replica: string;
  from_offset: number;
  to_offset: number;
}
export interface ProducersExpired {
  replica: string;
  producer_ids: number[];
}
export interface ProducerStateChanged {
  client: string;
  state: string;
  transactional_id: string;
  producer_id: number;
  producer_epoch: number;
  why: string;
}

// waiting
export interface RequestParked {
  broker: string;
  request: string;
  api: string;
  client: string;
  partitions: string[];
  needs: string;
  deadline_us: number;
}
export interface RequestCompleted {
  broker: string;
  request: string;
  why: string;
}

// world
export interface RunStarted {
  name: string;
  seed: number;
  era: string;
  start_wall_ms: number;
}
export interface NodeAdded {
  node: string;
  node_kind: string;
  broker_id: number;
  settings: [string, string][];
}
export interface NodeRemoved {
  node: string;
}
export interface ClientRefused {
  node: string;
  broker: string;
  why: string;
}
export interface ClientIdentified {
  node: string;
  client_id: string;
  software_name: string;
  software_version: string;
}
export interface BrokerStarting {
  broker: string;
  clean_shutdown: boolean;
}
export interface BrokerStarted {
  broker: string;
  broker_epoch: number;
}
export interface BrokerStopped {
  broker: string;
  how: string;
}
export interface BrokerExiting {
  broker: string;
  why: string;
}
export interface BrokerFrozen {
  broker: string;
}
export interface BrokerThawed {
  broker: string;
}
export interface ClientFrozen {
  client: string;
}
export interface ClientThawed {
  client: string;
}
export interface LinkCut {
  a: string;
  b: string;
}
export interface LinkCutOneWay {
  source: string;
  destination: string;
}
export interface LinkRestored {
  a: string;
  b: string;
}
export interface LinkQualityChanged {
  source: string;
  destination: string;
  latency_us: number;
  loss_percent: number;
  reorder_percent: number;
}
export interface DiskSlowed {
  broker: string;
  latency_us: number;
}
export interface FsyncSlowed {
  broker: string;
  latency_us: number;
}
export interface InvariantViolated {
  invariant: string;
  subject: string;
  detail: string;
  explained_by: string;
  detail_zh: string;
  explained_by_zh: string;
  cause: number;
  promise: string;
  promise_zh: string;
  setting: string;
}
export interface ForeignZnodeChanged {
  change: string;
  path: string;
  data: string;
}

export interface DataOf {
  RecordsGathered: RecordsGathered;
  RecordPartitioned: RecordPartitioned;
  ProducerBlocked: ProducerBlocked;
  ProducerUnblocked: ProducerUnblocked;
  ProduceStarted: ProduceStarted;
  ProduceRepeated: ProduceRepeated;
  ProduceAcknowledged: ProduceAcknowledged;
  ProduceFailed: ProduceFailed;
  ProduceRetried: ProduceRetried;
  BatchSplit: BatchSplit;
  ProducerStreamChanged: ProducerStreamChanged;
  RecordsConsumed: RecordsConsumed;
  ConsumerPositionReset: ConsumerPositionReset;
  ReadReplicaNamed: ReadReplicaNamed;
  ReadReplicaCleared: ReadReplicaCleared;
  AcknowledgedRecordsLost: AcknowledgedRecordsLost;
  CommandReceived: CommandReceived;
  CommandPrinted: CommandPrinted;
  CommandCompleted: CommandCompleted;
  SessionOpened: SessionOpened;
  SessionClosed: SessionClosed;
  ZooKeeperAsked: ZooKeeperAsked;
  ZnodeCreated: ZnodeCreated;
  ZnodeChanged: ZnodeChanged;
  ZnodeDeleted: ZnodeDeleted;
  WatchArmed: WatchArmed;
  WatchFired: WatchFired;
  ControllerEventProcessed: ControllerEventProcessed;
  ControllerElected: ControllerElected;
  ControllerResigned: ControllerResigned;
  PartitionStateChanged: PartitionStateChanged;
  ReplicaStateChanged: ReplicaStateChanged;
  LeaderElected: LeaderElected;
  ConfigurationApplied: ConfigurationApplied;
  MetadataUpdated: MetadataUpdated;
  GroupsLoadStarted: GroupsLoadStarted;
  GroupsLoaded: GroupsLoaded;
  GroupsUnloaded: GroupsUnloaded;
  GroupTransitioned: GroupTransitioned;
  GroupMemberAdded: GroupMemberAdded;
  GroupMemberUpdated: GroupMemberUpdated;
  GroupMemberReplaced: GroupMemberReplaced;
  GroupMemberRemoved: GroupMemberRemoved;
  GroupAssigned: GroupAssigned;
  OffsetCommitAccepted: OffsetCommitAccepted;
  OffsetCommitted: OffsetCommitted;
  OffsetRemoved: OffsetRemoved;
  PipelineStageChanged: PipelineStageChanged;
  ConsumerStateChanged: ConsumerStateChanged;
  ConsumerAssigned: ConsumerAssigned;
  TransactionalOffsetPending: TransactionalOffsetPending;
  TransactionalOffsetsDecided: TransactionalOffsetsDecided;
  AssignorDefined: AssignorDefined;
  AssignmentPlanned: AssignmentPlanned;
  LogOpened: LogOpened;
  BatchAppended: BatchAppended;
  RefusedAppendWritten: RefusedAppendWritten;
  SegmentRolled: SegmentRolled;
  OffsetIndexEntryAdded: OffsetIndexEntryAdded;
  TimeIndexEntryAdded: TimeIndexEntryAdded;
  LogTruncated: LogTruncated;
  LogStartOffsetIncremented: LogStartOffsetIncremented;
  SegmentsDeleted: SegmentsDeleted;
  RetentionFailed: RetentionFailed;
  FilesMarkedDeleted: FilesMarkedDeleted;
  FilesUnlinked: FilesUnlinked;
  LogCleaned: LogCleaned;
  LogUncleanable: LogUncleanable;
  SegmentChecked: SegmentChecked;
  LogRepaired: LogRepaired;
  CheckpointReset: CheckpointReset;
  LogDirectoryFailed: LogDirectoryFailed;
  LeaderEpochsChanged: LeaderEpochsChanged;
  LogFlushed: LogFlushed;
  PowerLost: PowerLost;
  CheckpointWritten: CheckpointWritten;
  LogClosed: LogClosed;
  LogDeleted: LogDeleted;
  ReplicaBecameLeader: ReplicaBecameLeader;
  ReplicaBecameFollower: ReplicaBecameFollower;
  ReplicaWentOffline: ReplicaWentOffline;
  HighWatermarkAdvanced: HighWatermarkAdvanced;
  HighWatermarkLowered: HighWatermarkLowered;
  RemoteReplicaUpdated: RemoteReplicaUpdated;
  IsrChangeProposed: IsrChangeProposed;
  IsrShrunk: IsrShrunk;
  IsrExpanded: IsrExpanded;
  IsrChangeRefused: IsrChangeRefused;
  FetcherFailed: FetcherFailed;
  RpcSent: RpcSent;
  RpcDelivered: RpcDelivered;
  RpcDropped: RpcDropped;
  RpcHeld: RpcHeld;
  RpcRescheduled: RpcRescheduled;
  ProducerIdsAllocated: ProducerIdsAllocated;
  TransactionsLoadStarted: TransactionsLoadStarted;
  TransactionsLoaded: TransactionsLoaded;
  TransactionsUnloaded: TransactionsUnloaded;
  TransactionTransitioned: TransactionTransitioned;
  ProducerBatchAppended: ProducerBatchAppended;
  TransactionMarkerAppended: TransactionMarkerAppended;
  FirstUnstableOffsetChanged: FirstUnstableOffsetChanged;
  ProducersExpired: ProducersExpired;
  ProducerStateChanged: ProducerStateChanged;
  RequestParked: RequestParked;
  RequestCompleted: RequestCompleted;
  RunStarted: RunStarted;
  NodeAdded: NodeAdded;
  NodeRemoved: NodeRemoved;
  ClientRefused: ClientRefused;
  ClientIdentified: ClientIdentified;
  BrokerStarting: BrokerStarting;
  BrokerStarted: BrokerStarted;
  BrokerStopped: BrokerStopped;
  BrokerExiting: BrokerExiting;
  BrokerFrozen: BrokerFrozen;
  BrokerThawed: BrokerThawed;
  ClientFrozen: ClientFrozen;
  ClientThawed: ClientThawed;
  LinkCut: LinkCut;
  LinkCutOneWay: LinkCutOneWay;
  LinkRestored: LinkRestored;
  LinkQualityChanged: LinkQualityChanged;
  DiskSlowed: DiskSlowed;
  FsyncSlowed: FsyncSlowed;
  InvariantViolated: InvariantViolated;
  ForeignZnodeChanged: ForeignZnodeChanged;
}
export type EventKind = keyof DataOf;
export type Family = "client" | "console" | "control" | "group" | "log" | "replica" | "rpc" | "transaction" | "waiting" | "world";
/** An event as the page handles it. `seq` is dense from 1 in a branch; `cause` is a seq or 0. */
export type EventOf<Kind extends EventKind> = {
  seq: number; at_us: number; node: string; cause: number; kind: Kind; family: Family; data: DataOf[Kind];
};
export type AnyEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];
/** `[pointer, value]`; without a value the path is removed. */
export type Patch = ([string, unknown] | [string])[];
/** `[seq, at_us, node, cause_seq, [kind, field...], patch]` */
export type WireEvent = [number, number, string, number, [EventKind, ...unknown[]], Patch];
export type FieldType = "int" | "str" | "bool" | [FieldShape, ...FieldType[]];
export type FieldShape = "list" | "tuple" | "maybe" | "either";
export interface KindInfo { family: Family; fields: [string, FieldType][] }
