// Written by `manage.py gen_events` from broker_core/view. Do not change it by hand.

/** What the page shows until the first snapshot is there: nothing, in the shape of a view. */
export const EMPTY_VIEW = /** @type {import("./view.d.ts").View} */ (/** @type {unknown} */ ({
  run: {},
  nodes: {},
  links: {},
  link_faults: {},
  topics: {},
  partitions: {},
  replicas: {},
  rpcs: {},
  parked: {},
  zk: {},
  watches: {},
  controller: {"broker": -1, "controller_epoch": 0},
  controller_partitions: {},
  controller_replicas: {},
  controller_events: [],
  assignors: {},
  groups: {},
  transactions: {},
  checkpoints: {},
  deleted_logs: {},
  alarms: {},
  losses: {},
  console: {},
}));
