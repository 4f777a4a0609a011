// The bytes of a message without their page: the annotated fields, and their hues.

/** @typedef {{ path: string, position: number, length: number, type: string, value: string, depth?: number }} Field */
/**
 * @typedef {{ api: string, version: number, is_request: boolean, is_real: boolean, size: number, data: string, fields: Field[]
 *   }} Exchanged
 */

/** The hue of a field by the end of its name. @type {[RegExp, string][]} */
const HUES = [
  [/error_code$/, "danger"], [/tagged_fields$|\.length$|\.tag$|^length$/, "plain"], [/epoch$/, "epoch"],
  [/offset$|watermark$/, "leader"], [/(topic|topic_name|name|topic_id|index|partition)$/, "isr"], [/records$/, "select"],
  [/(_ms|timestamp|bytes)$/, "produce"], [/(producer_id|transactional_id|correlation_id|client_id)$/, "control"],
  [/(group_id|member_id|generation_id|instance_id)$/, "group"],
    [/(leader_id|leader|broker_id|node_id|replica_id|controller_id)$/, "outisr"],
];

/** @param {Field} field */
export const hueOfField = ({ path, type }) => (type === "?" ? "danger" : HUES.find(([end]) => end.test(path.replace(/\[\d+\]$/, "")))?.[1]
  ?? "plain");

/** The last part of a path, with the index of its entry: `topics[0].name` is `name`. @param {string} path */
export const shortName = (path) => path.slice(path.lastIndexOf(".", path.endsWith(".length") || path.endsWith(".tag")
  ? path.lastIndexOf(".") - 1 : undefined) + 1);

/** The fields that have bytes in a window. @param {Field[]} fields @param {number} from @param {number} to */
export const fieldsWithin = (fields, from, to) => fields.filter(({ position, length }) => position < to && position + length > from);
