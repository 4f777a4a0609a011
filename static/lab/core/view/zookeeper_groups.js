// Groups from before 0.9, which have no coordinator: what ZooKeeper holds of them, in the shape of other groups.

import { byName } from "./selectors.js";

/** @import { Group, View } from "./view.d.ts" */

/** @typedef {Pick<Group, "group" | "members" | "offsets" | "previous" | "leader">} OldGroup */

/** @param {string} data of an id's znode @returns {string[]} the topics that it wants */
function topicsOf(data) {
  try {
    return Object.keys(JSON.parse(data).subscription ?? {});
  } catch {
    return [];
  }
}

/** The groups under /consumers, by name. @param {View} view @returns {OldGroup[]} */
export function zookeeperGroups(view) {
  /** @type {Record<string, OldGroup>} */
  const groups = {};
  const clients = Object.fromEntries(Object.entries(view.nodes)
    .flatMap(([name, node]) => (node.kind === "consumer" && node.member ? [[node.member.member_id, name]] : [])));
  for (const path of Object.keys(view.zk).sort(byName)) {
    const [, root, name, kind, ...rest] = path.split("/");
    if (root !== "consumers" || !kind) continue;
    const group = (groups[name] ??= { group: name, members: {}, offsets: {}, previous: {}, leader: "" });
    const { data } = view.zk[path];
    if (kind === "ids" && rest.length === 1) group.members[rest[0]] = { client: clients[rest[0]] ?? rest[0], instance: "",
      topics: topicsOf(data), assignment: [] };
    if (kind === "offsets" && rest.length === 2) group.offsets[rest.join("-")] = Number(data);
    // ids come before owners
    if (kind === "owners" && rest.length === 2) group.members[data.replace(/-\d+$/, "")]?.assignment.push(rest.join("-"));
  }
  return Object.values(groups);
}
