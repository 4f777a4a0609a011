// What the core says of files that break a rule, in Chinese. What it says of brokers, clients and replicas is in reasons.js, and of
// messages in labels.js.

import { translator } from "./phrases.js";
import { REASONS } from "./reasons.js";

/** @type {Record<string, string>} */
export const CHINESE = {
  "cut": "截断",
  "deleted": "删除",
  "rebuilt": "重建",
  "before": "前",
  "behind": "后",
  "{0}, byte {1}: {2}": "{0}，字节 {1}：{2}",
  "its first line is {0}, expected the version, {1}": "第一行是 {0}，应为版本号 {1}",
  "its second line is {0}, expected the number of entries, {1}": "第二行是 {0}，应为条目数 {1}",
  "{0} is no number": "{0} 不是数字",
  "this is no UTF-8 text": "这不是 UTF-8 文本",
  "the line {0} has {1} fields, expected {2}": "行 {0} 有 {1} 个字段，应为 {2} 个",
  "the batch has magic {0}, expected {1} at most": "批次的 magic 为 {0}，最大应为 {1}",
  "the batch claims {0} bytes": "批次声称有 {0} 字节",
  "the last batch is not whole": "最后一个批次不完整",
  "the offsets in the batch at {0} do not rise": "位移 {0} 处的批次中，位移没有递增",
  "the batch at {0} has a producer id, but no sequence number": "位移 {0} 处的批次有生产者 id，却没有序列号",
  "a record in the batch at {0} has the timestamp {1}, which is below -1": "位移 {0} 处的批次中有消息的时间戳为 {1}，小于 -1",
  "it belongs to cluster {0}, this one is {1}": "它属于集群 {0}，而这里是 {1}",
  "it belongs to broker {0}, this one is {1}": "它属于代理 {0}，而这里是 {1}",
  "its version is {0}, expected {1}": "其版本为 {0}，应为 {1}",
  "epoch {0} from offset {1}: neither may be negative": "纪元 {0} 始于位移 {1}：两者都不能为负数",
  "the version is {0}, expected a number from 0 on": "版本为 {0}，应为不小于 0 的数字",
  "{0} is no topic id of 22 characters": "{0} 不是 22 个字符的主题 id",
  "the topic id is zero": "主题 id 为零",
  "line {0} is missing, expected {1}": "缺少第 {0} 行，应为 {1}",
  "line {0} is {1}, expected {2}": "第 {0} 行是 {1}，应为 {2}",
  "the marker at offset {0} makes no sense: {1}": "位移 {0} 处的事务标记不合理：{1}",
  "it ends a transaction from offset {0} that was not begun": "它结束了始于位移 {0} 的事务，而该事务从未开始",
  "a snapshot has at least {0} bytes, this one {1}": "快照至少有 {0} 字节，此文件只有 {1}",
  "the snapshot has version {0}, expected {1}": "快照版本为 {0}，应为 {1}",
  "the snapshot's CRC does not match": "快照的 CRC 不符",
  "a snapshot of {0} producers has {1} bytes, not {2}": "{0} 个生产者的快照应有 {1} 字节，而不是 {2}",
  "the log does not reach to this offset": "日志没有到达这个位移",
  "no segment begins at this offset": "没有日志段始于这个位移",
  "{0}: it becomes the segments {1}": "{0}：它被拆成日志段 {1}",
  "the log ends at {0}, before its start {1}": "日志结束于 {0}，在其起点 {1} 之前",
  "the log ends in the segment before, {0}": "日志在前一个日志段 {0} 中结束",
  "nothing is left of the log": "日志已不剩任何内容",
  "{0} does not fit a log from {1} to {2}": "{0} 与从 {1} 到 {2} 的日志不符",
  "a replacement of segments was interrupted": "日志段的替换被中断",
  "the file is missing": "文件缺失",
  "the file is missing, an empty one is begun": "文件缺失，从空文件重新开始",
  "there is no .log of this name": "没有同名的 .log",
  "it was waiting to be unlinked": "它正等待被移除",
  "offset {0} follows {1} in the index, offsets must rise": "索引中位移 {0} 跟在 {1} 之后，位移必须递增",
  "offset {0} is out of the range of segment {1}": "位移 {0} 超出日志段 {1} 的范围",
  "the index is full with {0} entries before the batch at byte {1} of the log has one":
    "索引已满，有 {0} 项，而日志字节 {1} 处的批次还没有索引项",
  "the last offset of a batch, {0}, is below its first, {1}": "批次的最后位移 {0} 小于其首个位移 {1}",
  "the length field of the batch is {0}, at least {1} expected": "批次的长度字段为 {0}，至少应为 {1}",
  "the batch claims {0} bytes, {1} are left": "批次声称有 {0} 字节，只剩 {1} 字节",
  "the batch claims {0} bytes, only {1} are there": "批次声称有 {0} 字节，实际只有 {1} 字节",
  "the batch claims {0} bytes, its header alone has {1}": "批次声称有 {0} 字节，仅头部就有 {1} 字节",
  "{0} bytes are left, a batch header has {1}": "只剩 {0} 字节，批次头部有 {1} 字节",
  "the batch at offset {0} has CRC {1}, its header says {2}": "位移 {0} 处批次的 CRC 为 {1}，其头部记为 {2}",
  "its name must begin with an offset, not with {0}": "文件名必须以位移开头，而不是 {0}",
  "an entry has version {0}, expected {1}": "有条目的版本为 {0}，应为 {1}",
  "a transaction that ended at offset {0} is listed in the segment that begins at {1}":
    "结束于位移 {0} 的事务列在始于 {1} 的日志段中",
  "unknown compression codec {0}: expected 0 to 4": "未知的压缩算法 {0}：应为 0 到 4",
  "a snappy block of {0} bytes claims to hold {1}": "{0} 字节的 snappy 块声称含有 {1} 字节",
  "the {0} data of the batch cannot be read: {1}": "无法读取批次的 {0} 数据：{1}",
  "the gzip data of the batch ends too early": "批次的 gzip 数据过早结束",
  "the snappy data of the batch ends within a block": "批次的 snappy 数据在块的中间结束",
  "a message has at least {0} bytes, this one {1}": "消息至少有 {0} 字节，此消息只有 {1}",
  "the message at offset {0} has CRC {1}, its header says {2}": "位移 {0} 处消息的 CRC 为 {1}，其头部记为 {2}",
  "the wrapper's offset is {0}, that of the last message in it {1}: it must not be less unless it is 0":
    "外层消息的位移为 {0}，其中最后一条消息的位移为 {1}：除非为 0，否则不得更小",
  "messages of magic 0 and 1 cannot be compressed with zstd": "magic 0 和 1 的消息不能用 zstd 压缩",
  "messages of magic {0} cannot be compressed with zstd": "magic {0} 的消息不能用 zstd 压缩",
  "the wrapper at offset {0} has no value": "位移 {0} 处的外层消息没有值",
  "there are no messages in the wrapper at offset {0}": "位移 {0} 处的外层消息中没有消息",
  "a field of a message claims {0} bytes, {1} are left": "消息的一个字段声称有 {0} 字节，只剩 {1} 字节",
  "a message claims {0} bytes, it must have at least {1}": "消息声称有 {0} 字节，至少应有 {1} 字节",
  "a compressed message lies in a wrapper": "外层消息中还有压缩的消息",
  "a message of magic {0} has only {1} bytes": "magic {0} 的消息只有 {1} 字节",
  "a message of an older format holds no timestamp below -1": "旧格式的消息不能有小于 -1 的时间戳",
  "no LZ4 frame begins here": "此处不是 LZ4 帧的开头",
  "the frame's flags are {0}; Kafka reads version 1 with independent blocks only":
    "帧的标志为 {0}；Kafka 只读取版本 1 且各块独立的帧",
  "the frame's block size is {0}, expected 0x40, 0x50, 0x60 or 0x70": "帧的块大小为 {0}，应为 0x40、0x50、0x60 或 0x70",
  "the checksum of the frame's header does not match": "帧头部的校验和不符",
  "the frame ends too early": "帧过早结束",
  "a block claims {0} bytes, at most {1} are allowed": "块声称有 {0} 字节，最多允许 {1} 字节",
  "the frame ends within a block": "帧在块的中间结束",
  "the checksum of a block does not match": "块的校验和不符",
  "{0} bytes follow the last of {1} records": "{1} 条消息中的最后一条之后还有 {0} 字节",
  "a record claims {0} headers, {1} bytes are left in it": "消息声称有 {0} 个消息头，其中只剩 {1} 字节",
  "a field claims {0} bytes, {1} are left": "字段声称有 {0} 字节，只剩 {1} 字节",
  "a record ends too early: {0}": "消息过早结束：{0}",
  "the length of a record cannot be read: {0}": "无法读取消息的长度：{0}",
  "a record header has no key": "有消息头没有键",
  "a record claims {0} bytes, {1} are left": "消息声称有 {0} 字节，只剩 {1} 字节",
  "the fields of a record end {0} bytes {1} its end": "消息的字段在其末尾之{1} {0} 字节处结束",
  "record {0} claims to end at byte {1}, its key ends at {2}": "第 {0} 条消息声称结束于字节 {1}，其键结束于 {2}",
  "the data ends within the variable-length integer at byte {0}": "数据在字节 {0} 处的变长整数中间结束",
};

const inChinese = translator({ ...CHINESE, ...REASONS });

/**
 * A fault in the language; what is not known stays as it is.
 * @param {string} said
 * @param {string} language "en" or "zh-CN"
 * @returns {string}
 */
export const faultIn = (said, language) => (language.startsWith("zh") ? inChinese(said) : said);
