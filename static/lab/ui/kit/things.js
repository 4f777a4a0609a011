// How a thing of the picture is called, by its anchor.
import { anchorOf } from "../../core/layout/ink.js";
import { splitRecord } from "../../core/view/selectors.js";
import { has, t } from "./i18n.js";

/** @import { Target } from "../../core/view/selectors.js" */

/** The name of a client; a page with a picture has those of its lab. @type {(id: string) => string} */
let clientName = (id) => id;
/** @param {(id: string) => string} how */
export const setClientName = (how) => void (clientName = how);

/** @param {string} node */
const nodeName = (node) => (/^b\d+$/.test(node) ? t("node.broker", { n: node.slice(1) }) : node);

/** What anchors name; those of other texts and of instants are left out. @param {string[]} anchors */
export const targetsOf = (anchors) => /** @type {Target[]} */ (anchors.map(anchorOf).filter((one) => one && one.type !== "time"));

/** "record:orders-0@b3:45" as people read it; text that is not an anchor stays as it is. @param {string} anchor */
export function thingName(anchor) {
  const found = anchorOf(anchor);
  if (found?.type === "time") return t("thing.time", { node: nodeName(found.id), at: ((found.at_us ?? 0) / 1e6).toFixed(3) });
  if (!found || !has(`thing.kind.${found.type}`)) return anchor;
  const { type, id } = found;
  switch (type) {
    case "client": return t("thing.client", { id: clientName(id) });
    case "broker": return nodeName(id);
    case "replica": case "record": {
      const [replica, n] = type === "record" ? splitRecord(id) : [id, 0];
      const [partition, node] = replica.split("@");
      return t(`thing.${type}`, { partition, node: nodeName(node ?? ""), n });
    }
    case "link": return id.split("|").map(nodeName).join(" – ");
    case "znode": return id === "/" ? "ZooKeeper" : t("thing.znode", { id });
  }
  return t(`thing.${type}`, { id });
}
