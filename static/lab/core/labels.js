// What stands on messages and in their fields, and what parked requests wait for, in Chinese. Names of APIs, topics and errors stay.

import { translator } from "./phrases.js";

/** @type {Record<string, string>} */
export const LABELS = {
  "{0} partitions": "{0} 个分区",
  "{0} partitions, {1} bytes": "{0} 个分区，{1} 字节",
  "nothing new": "没有新消息",
  "records · HW {0}": "消息 · HW {0}",
  "HW {0}, {1} bytes": "HW {0}，{1} 字节",
  "ack @{0}": "确认 @{0}",
  "diverging epoch {0}": "在纪元 {0} 分叉",
  "diverging epoch {0} ends at {1}": "在纪元 {0} 分叉，止于 {1}",
  "epoch {0} ends at {1}": "纪元 {0} 止于 {1}",
  "end of epoch {0}?": "纪元 {0} 止于何处？",
  "ends of epochs": "各纪元的末端",
  "ends of epochs?": "各纪元止于何处？",
  "offset {0}": "位移 {0}",
  "no offsets": "没有位移",
  "{0} offsets": "{0} 个位移",
  "low watermark {0}": "低水位 {0}",
  "{0} low watermark >= {1}": "{0} 低水位 >= {1}",
  "nothing": "无",
  "ok": "成功",
  "done": "完成",
  "written": "已写入",
  "written to ZooKeeper": "已写入 ZooKeeper",
  "committed": "已提交",
  "waits for the end": "等待事务结束",
  "added": "已加入",
  "belongs to it": "属于该事务",
  "is it added?": "是否已加入？",
  "verify {0}": "核实 {0}",
  "deleted": "已删除",
  "alive": "存活",
  "left": "已离开",
  "assignment": "分配方案",
  "generation {0}": "第 {0} 代",
  "coordinator b{0}": "协调者 b{0}",
  "{0} coordinators": "{0} 个协调者",
  "from {0} on": "自 {0} 起",
  "id {0} epoch {1}": "ID {0}，纪元 {1}",
  "configurations": "配置",
  "quotas": "配额",
  "no elections": "没有选举",
  "{0} groups": "{0} 个组",
  "{0} topics": "{0} 个主题",
  "{0} replicas": "{0} 个副本",
  "{0} producers": "{0} 个生产者",
  "{0} transactional ids": "{0} 个 transactional.id",
  "{0} left": "剩余 {0} 个",
  "{0} moving": "{0} 个正在迁移",
  "Metadata brokers": "Metadata 代理",
  "Metadata all topics": "Metadata 全部主题",
  "ListOffsets earliest": "ListOffsets 最早",
  "ListOffsets latest": "ListOffsets 最新",
  "children {0}": "子节点变化 {0}",
  "changed {0}": "变更 {0}",
  "created {0}": "创建 {0}",
  "deleted {0}": "删除 {0}",
  "children": "子节点变化",
  "changed": "变更",
  "created": "创建",
  "leader {0}": "首领 {0}",
  "leader {0} epoch {1}": "首领 {0}，纪元 {1}",
  "leader {0} epoch {1} ISR {2}": "首领 {0}，纪元 {1}，ISR {2}",
  "replicas {0}": "副本 {0}",
  "delete": "删除",
  "stop": "停止",
  "led": "仍由它领导",
  "live brokers": "在线代理",
  "copy of": "复制自",
  "{0} bytes": "{0} 字节",
  "{0} byte": "{0} 字节",
};

const inChinese = translator(LABELS);

/** What is counted on messages: one of them has no "s". */
const ONE = /(?<![\w.-])1 (topic|partition|group|coordinator|replica|producer|transactional id|offset|byte)s\b/;

/** @param {string} said */
const inEnglish = (said) => (said.includes("1 ") ? said.replace(ONE, "1 $1") : said);

/**
 * A label, a field or a need of a message in the language.
 * @param {string} said
 * @param {string} language "en" or "zh-CN"
 * @returns {string}
 */
export const labelIn = (said, language) => (language.startsWith("zh") ? inChinese(said) : inEnglish(said));
