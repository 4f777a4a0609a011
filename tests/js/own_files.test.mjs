// The reader of one's own files against what a real Kafka 3.9.1 broker wrote and its own DumpLogSegments printed; against the
// codecs of Node; and against bytes that are anything.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import zlib from "node:zlib";

import { controlOf, openBatch } from "../../static/lab/own_files/batch.js";
import { crc32, crc32c } from "../../static/lab/own_files/checksums.js";
import { decompress } from "../../static/lab/own_files/decompress.js";
import { lz4 } from "../../static/lab/own_files/lz4.js";
import { nameOf } from "../../static/lab/own_files/names.js";
import { OwnFiles } from "../../static/lab/own_files/own_files.js";
import { Rows } from "../../static/lab/own_files/rows.js";
import { snappy } from "../../static/lab/own_files/snappy.js";
import { zstd } from "../../static/lab/own_files/zstd.js";
import { SAMPLE } from "../../static/lab/ui/pages/inspect_files/sample.js";

const data = new URL("../data/", import.meta.url).pathname;
const lab = new URL("../../static/lab/", import.meta.url).pathname;
const MOST = 1 << 26;
const rulesOf = (own) => own.state().faults.map(({ rule }) => rule);

/** Partitions with a dump beside them: [folder of the log, folder of the dump]. */
const partitions = ["own_files", "golden"].flatMap((set) => readdirSync(join(data, set)).flatMap((name) => {
  const folder = join(data, set, name);
  return existsSync(join(folder, "log")) ? readdirSync(join(folder, "log")).map((partition) => [join(folder, "log", partition), join(folder, "dump", partition)]) : [];
}));

const given = (folder, change = (bytes) => bytes) => readdirSync(folder).map((name) => ({
  name, folder: folder.split("/").at(-1), source: new Blob([change(readFileSync(join(folder, name)), name)]),
}));

async function opened(folder, change) {
  const own = new OwnFiles();
  await own.add(given(folder, change));
  return own;
}

const fileOf = (own, name) => own.state().files.find((file) => file.name === name);
const blob = (own, name) => own.files.find((file) => file.name === name).source;

// --- what DumpLogSegments prints ------------------------------------------------------------------------------------------------

const utf8 = new TextDecoder();
const sequenceBack = (last, delta) => (last < delta ? 2147483647 - (delta - last) + 1 : last - delta);
const sequenceOn = (base, delta) => (base < 0 ? -1 : base > 2147483647 - delta ? delta - (2147483647 - base) - 1 : base + delta);

function recordLine(record, { magic, isControl, isLogAppendTime }) {
  const time = magic === 0 ? "NoTimestampType" : isLogAppendTime ? "LogAppendTime" : "CreateTime";
  let line = `| offset: ${record.offset} ${time}: ${record.timestamp} keySize: ${record.key?.length ?? -1} valueSize: ${record.value?.length ?? -1}`;
  line += magic < 2 ? " isValid: true" : ` sequence: ${record.sequence} headerKeys: [${record.headers.map(([name]) => name).join(",")}]`;
  if (isControl) {
    const { kind, coordinatorEpoch } = controlOf(record);
    return `${line} endTxnMarker: ${kind} coordinatorEpoch: ${coordinatorEpoch}`;
  }
  if (record.key) line += ` key: ${utf8.decode(record.key)}`;
  if (record.value) line += ` payload: ${utf8.decode(record.value)}`;
  return line;
}

function batchLine(header, codec) {
  const { base, last, count, baseSequence, producerId, producerEpoch, epoch, isTransactional, isControl, position, size, magic, crc } = header;
  const time = magic === 0 ? "NoTimestampType" : header.isLogAppendTime ? "LogAppendTime" : "CreateTime";
  const end = `position: ${position} ${time}: ${header.maxTimestamp} size: ${size} magic: ${magic} compresscodec: ${codec} crc: ${crc} isvalid: true`;
  if (magic < 2) return `offset: ${last} ${end}`;
  const horizon = header.hasHorizon ? `OptionalLong[${header.baseTimestamp}]` : "OptionalLong.empty";
  return `baseOffset: ${base} lastOffset: ${last} count: ${count} baseSequence: ${baseSequence} lastSequence: ${sequenceOn(baseSequence, Number(last - base))} `
    + `producerId: ${producerId} producerEpoch: ${producerEpoch} partitionLeaderEpoch: ${epoch} isTransactional: ${isTransactional} isControl: ${isControl} deleteHorizonMs: ${horizon} ${end}`;
}

async function logDump(own, file, label) {
  const lines = [`Dumping ${label}`, `Log starting offset: ${file.base}`];
  const rows = await own.rows({ id: file.id, first: 0, count: file.count });
  assert.equal(rows.length, file.count);
  for (const row of rows) {
    const bytes = new Uint8Array(await blob(own, file.name).slice(row.position, row.position + row.size).arrayBuffer());
    const { header, records, computed, error } = await openBatch(bytes, row.position);
    assert.equal(error, null, `${label} @${row.position}: ${error}`);
    assert.equal(computed, header.crc);
    lines.push(batchLine(header, row.codec), ...records.map((record) => recordLine(record, header)));
  }
  return lines;
}

const optional = (offset) => (offset < 0n ? "OptionalLong.empty" : `OptionalLong[${offset}]`);
const ENTRY_LINES = {
  index: ({ offset, position }) => `offset: ${offset} position: ${position}`,
  timeindex: ({ timestamp, offset }) => `timestamp: ${timestamp} offset: ${offset}`,
  txnindex: (row) => `version: ${row.version} producerId: ${row.producerId} firstOffset: ${row.firstOffset} lastOffset: ${row.lastOffset} lastStableOffset: ${row.lastStableOffset}`,
  snapshot: (row) => `producerId: ${row.producerId} producerEpoch: ${row.producerEpoch} coordinatorEpoch: ${row.coordinatorEpoch} currentTxnFirstOffset: ${optional(row.currentTxnFirstOffset)} `
    + `lastTimestamp: ${row.timestamp} ${row.lastSequence < 0 ? "" : `firstSequence: ${sequenceBack(row.lastSequence, row.offsetDelta)} lastSequence: ${row.lastSequence} `
      + `lastOffset: ${row.lastOffset} offsetDelta: ${row.offsetDelta} timestamp: ${row.timestamp}`}`,
};

test("every file that a broker closed is read as Kafka's tool prints it, and violates no rule", async () => {
  let compared = 0;
  for (const [logs, dumps] of partitions) {
    const own = await opened(logs);
    assert.deepEqual(rulesOf(own), [], logs);
    for (const file of own.state().files) {
      const path = join(dumps, `${file.name}.txt`);
      if (!existsSync(path)) continue;
      // Of a message within a wrapper the tool prints a checksum that the page does not show.
      const expected = readFileSync(path, "utf8").replace(/ crc: \d+}/g, "").replace(/\n\S+ is empty\.$/m, "").trimEnd();
      const label = `${logs.split("/").at(-1)}/${file.name}`;
      const lines = file.kind === "log" ? await logDump(own, file, label)
        : [`Dumping ${label}`, ...own.entries({ id: file.id, first: 0, count: file.count }).map(ENTRY_LINES[file.kind])];
      assert.equal(lines.join("\n"), expected, label);
      compared += 1;
    }
  }
  assert.ok(compared > 150, `only ${compared} files were compared`);
});

test("every entry of an index leads to the batch that ends with it, and back", async () => {
  let followed = 0;
  for (const [logs] of partitions) {
    const own = await opened(logs);
    for (const file of own.state().files.filter(({ kind }) => kind === "index")) {
      const log = own.logOf({ id: file.id });
      for (const { n, row, offset, position } of own.entries({ id: file.id, first: 0, count: file.count })) {
        const [batch] = await own.rows({ id: log, first: row, count: 1 });
        assert.deepEqual([Number(batch.last), batch.position], [offset, position]);
        assert.ok(own.entriesOf({ id: log, row }).some((entry) => entry.id === file.id && entry.n === n));
        followed += 1;
      }
    }
  }
  assert.ok(followed > 30);
});

test("records of the coordinators' topics are decoded", async () => {
  for (const [folder, meaning, pattern] of [["13-consumer-offsets", "offsets", /key: (\{.*?\}\}) payload: (.*)/], ["14-transaction-state", "transactions", /Id=(\S+) payload: (.*)/]]) {
    const root = join(data, "own_files", folder, "log");
    const partition = readdirSync(root)[0];
    const own = await opened(join(root, partition));
    const log = own.state().files.find(({ kind }) => kind === "log");
    assert.equal(own.summary({ id: log.id }).meaning, meaning);
    const found = [];
    for (let row = 0; row < log.count; row++) found.push(...(await own.batch({ id: log.id, row, meaning })).records);
    const lines = readFileSync(join(data, "own_files", folder, "dump", partition, `${log.name}.decoded.txt`), "utf8").split("\n").filter((line) => line.startsWith("| "));
    assert.equal(found.length, lines.length);
    found.forEach(({ decoded, control }, place) => {
      if (control) return;
      const [, key, payload] = pattern.exec(lines[place]);
      const value = decoded.value && JSON.parse(decoded.value);
      if (meaning === "transactions") {
        assert.equal(JSON.parse(decoded.key).transactionalId, key);
        const [, printed] = /partitions=\[(.*?)\]/.exec(payload); // of a set, in no order
        assert.deepEqual(value.partitions.toSorted(), printed.split(",").filter(Boolean).toSorted());
        assert.equal(payload, `producerId:${value.producerId},producerEpoch:${value.producerEpoch},state=${value.state},partitions=[${printed}],`
          + `txnLastUpdateTimestamp=${value.txnLastUpdateTimestamp},txnTimeoutMs=${value.txnTimeoutMs}`);
        return;
      }
      assert.deepEqual(JSON.parse(decoded.key), JSON.parse(key).data);
      const expected = payload.startsWith("{") ? JSON.parse(payload).data : null;
      // Data of an assignor's own is not decoded.
      assert.deepEqual(value, JSON.parse(JSON.stringify(expected), (name, inner) => (name === "userData" ? undefined : inner)));
    });
  }
});

// --- damage -------------------------------------------------------------------------------------------------------------------------

const sparse = join(data, "golden", "02-sparse-index", "log", "sparse-0");
const LOG = "00000000000000000000.log";
const INDEX = "00000000000000000000.index";
const TIMES = "00000000000000000000.timeindex";
const EPOCHS = "leader-epoch-checkpoint";

/** The rules that are broken when one file is changed. */
async function damaged(name, change) {
  const own = await opened(sparse, (bytes, file) => (file === name ? change(Buffer.from(bytes)) : bytes));
  return own.state().faults.filter((fault) => fileOf(own, name).id === fault.file).map(({ rule, position }) => [rule, position]);
}

const put = (at, write) => (bytes) => {
  write(bytes, at);
  return bytes;
};

test("each kind of damage is found at its position", async () => {
  const own = await opened(sparse);
  const { id } = fileOf(own, LOG);
  const rows = await own.rows({ id, first: 0, count: 64 });
  const [second, last] = [rows[1].position, rows[63].position];
  const index = own.entries({ id: fileOf(own, INDEX).id, first: 0, count: 9 });

  assert.deepEqual(await damaged(LOG, (bytes) => bytes.subarray(0, -5)), [["torn_tail", last]]);
  assert.deepEqual(await damaged(LOG, (bytes) => bytes.subarray(0, last + 9)), [["torn_header", last]]);
  assert.deepEqual(await damaged(LOG, (bytes) => Buffer.concat([bytes, Buffer.alloc(5000)])), [["zeros", rows[63].position + rows[63].size]]);
  assert.deepEqual(await damaged(LOG, put(second + 70, (bytes, at) => (bytes[at] ^= 1))), [["crc", second]]);
  assert.deepEqual(await damaged(LOG, put(second, (bytes, at) => bytes.writeBigInt64BE(0n, at))), [["offsets_rise", second]]);
  assert.deepEqual(await damaged(LOG, put(second + 8, (bytes, at) => bytes.writeInt32BE(2 ** 31 - 1, at))), [["length_huge", second]]);
  assert.deepEqual(await damaged(LOG, put(second + 8, (bytes, at) => bytes.writeInt32BE(-1, at))), [["length_small", second]]);
  assert.deepEqual(await damaged(LOG, put(second + 16, (bytes, at) => (bytes[at] = 9))), [["magic", second]]);
  assert.deepEqual(await damaged(LOG, () => Buffer.from("Not a log at all, but a letter to somebody.")), [["no_log", 0]]);
  assert.deepEqual(await damaged(INDEX, put(4, (bytes, at) => bytes.writeInt32BE(index[0].position + 1, at))), [["index_no_batch", 0]]);
  assert.deepEqual(await damaged(INDEX, put(8, (bytes, at) => bytes.writeInt32BE(index[1].relative - 1, at))), [["index_offset", 8]]);
  assert.deepEqual(await damaged(INDEX, put(64, (bytes, at) => bytes.writeInt32BE(2 ** 30, at + 4))), [["index_beyond", 64]]);
  assert.deepEqual(await damaged(INDEX, put(16, (bytes, at) => bytes.copy(bytes, at, 0, 8))), [["index_rises", 16]]);
  assert.deepEqual(await damaged(INDEX, (bytes) => Buffer.concat([bytes, Buffer.alloc(80)])), [["table_zeros", 72]]);
  assert.deepEqual(await damaged(INDEX, (bytes) => Buffer.concat([bytes, Buffer.from([1, 2, 3])])), [["table_length", 72]]);
  assert.deepEqual(await damaged(TIMES, put(0, (bytes, at) => bytes.writeBigInt64BE(5n, at))), [["time_too_small", 0]]);
  assert.deepEqual(await damaged(TIMES, (bytes) => Buffer.concat([bytes, bytes])), [["time_rises", 12]]);
  assert.deepEqual(await damaged(EPOCHS, () => Buffer.from("0\n3\n0 0\n")), [["checkpoint_count", 2]]);
  assert.deepEqual(await damaged(EPOCHS, () => Buffer.from("1\n1\n0 zero\n")), [["checkpoint_version", 0], ["checkpoint_line", 4]]);
});

test("an index of another log is reported in one sentence", async () => {
  const own = new OwnFiles();
  const other = join(data, "golden", "03-roll-size", "log");
  const [partition] = readdirSync(other);
  const stranger = readFileSync(join(sparse, INDEX));
  const log = readdirSync(join(other, partition)).find((name) => name.endsWith(".log"));
  await own.add([{ name: log, folder: "", source: new Blob([readFileSync(join(other, partition, log))]) }, { name: log.replace(".log", ".index"), folder: "", source: new Blob([stranger]) }]);
  assert.deepEqual(rulesOf(own), ["index_foreign"]);
});

test("names and contents that do not match are reported", async () => {
  const log = new Blob([readFileSync(join(sparse, LOG))]);
  const rules = async (...files) => {
    const own = new OwnFiles();
    await own.add(files.map(([name, source]) => ({ name, folder: "", source })));
    return [...new Set(rulesOf(own))];
  };
  assert.deepEqual(await rules(["letter.txt", new Blob(["Dear somebody"])]), ["foreign"]);
  assert.deepEqual(await rules(["letter.txt", log]), ["extension"]);
  assert.deepEqual(await rules([INDEX, log]), ["wrong_kind"]);
  assert.deepEqual(await rules(["orders.log", log]), ["name"]);
  assert.deepEqual(await rules(["00000000000000000100.log", log]), ["before_base"]);
  assert.deepEqual(await rules([INDEX, new Blob([readFileSync(join(sparse, INDEX))])]), ["log_missing"]);
  assert.deepEqual(nameOf("00000000000000000042.timeindex.deleted"), { kind: "timeindex", base: 42, stem: "00000000000000000042.deleted", state: "deleted" });
});

test("a file that is given again replaces the earlier one", async () => {
  const own = await opened(sparse, (bytes, name) => (name === LOG ? bytes.subarray(0, -5) : bytes));
  assert.ok(rulesOf(own).includes("torn_tail"));
  await own.add(given(sparse).filter(({ name }) => name === LOG));
  assert.deepEqual(rulesOf(own), []);
  assert.equal(own.state().files.length, readdirSync(sparse).length);
});

test("reading can be stopped, and what was read stays", async () => {
  const bytes = readFileSync(join(sparse, LOG));
  const own = new OwnFiles(() => own.cancel());
  await own.add([{ name: LOG, folder: "", source: new Blob([bytes]) }]);
  assert.deepEqual(rulesOf(own), ["cancelled"]);
  assert.equal(own.state().busy, false);
});

test("a file that no longer exists is reported, and the others are read", async () => {
  const own = new OwnFiles();
  const gone = new Blob([readFileSync(join(sparse, LOG))]);
  const lost = Object.assign(Object.create(null), { size: gone.size, slice: () => ({ arrayBuffer: () => Promise.reject(new Error("NotReadableError")), stream: () => gone.stream() }) });
  await own.add([{ name: INDEX, folder: "a", source: lost }, ...given(sparse)]);
  assert.deepEqual(rulesOf(own), ["unreadable"]);
  assert.equal(own.state().busy, false);
});

test("batches are found even if there are more than are cached", async () => {
  const count = 300_000;
  const size = 61;
  const bytes = Buffer.alloc(count * size);
  const rows = new Rows();
  for (let row = 0; row < count; row++) {
    bytes.writeBigInt64BE(BigInt(row * 2), row * size);
    bytes.writeInt32BE(size - 12, row * size + 8);
    bytes[row * size + 16] = 2;
    bytes.writeInt32BE(1, row * size + 23);
    rows.add(row * size, row * 2);
  }
  const file = new Blob([bytes]);
  for (const row of [0, 1, 131_071, 131_073, 262_145, count - 1]) {
    const [header] = await rows.read(file, row, 1);
    assert.deepEqual([header.row, header.base], [row, BigInt(row * 2)]);
    assert.equal(await rows.findOffset(file, row * 2 + 1), row);
    assert.equal(await rows.findPosition(file, row * size + 60), row);
  }
});

// --- codecs and checksums ---------------------------------------------------------------------------------------------------------

/** Numbers that are the same in each run. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

test("CRC-32C and CRC-32 are computed, also in pieces", () => {
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
  assert.equal(crc32(Buffer.from("123456789")), 0xcbf43926);
  const bytes = Buffer.from("a longer text in two pieces");
  assert.equal(crc32c(bytes, 11, bytes.length, crc32c(bytes, 0, 11)), crc32c(bytes));
});

test("zstd and gzip decompress what Node has compressed", async () => {
  const draw = random(7);
  const words = Array.from({ length: 200 }, () => Array.from({ length: 2 + draw(7) }, () => String.fromCharCode(97 + draw(26))).join(""));
  for (const size of [0, 1, 40, 3_000, 140_000, 400_000])
    for (const kind of ["words", "noise", "runs"]) {
      const plain = kind === "runs" ? Buffer.alloc(size, 7) : Buffer.from(kind === "noise" ? Uint8Array.from({ length: size }, () => draw(256))
        : Array.from({ length: size / 4 }, () => words[Math.floor(draw(200) * draw(200) / 200)]).join(" ").slice(0, size));
      const read = async (codec, bytes) => assert.ok(Buffer.from(await decompress(codec, new Uint8Array(bytes), MOST)).equals(plain), `${kind} ${size}`);
      await read(1, zlib.gzipSync(plain));
      for (const level of [-3, 1, 9, 19]) await read(4, zlib.zstdCompressSync(plain, { params: { [zlib.constants.ZSTD_c_compressionLevel]: level } }));
    }
});

test("data that decompresses to too much is refused", async () => {
  const bomb = zlib.zstdCompressSync(Buffer.alloc(50_000_000));
  await assert.rejects(decompress(4, new Uint8Array(bomb), 1_000_000), { rule: "inflates" });
  await assert.rejects(decompress(1, new Uint8Array(zlib.gzipSync(Buffer.alloc(5_000_000))), 1_000_000), { rule: "inflates" });
});

// --- anything ---------------------------------------------------------------------------------------------------------------------------

const ROUNDS = process.env.HIGHWATER_SOAK ? 20_000 : 500;
/** Of processor time: how long a round takes by the clock says something about the machine. */
const LONGEST_MS = 3000;

/** Milliseconds of processor time of this process so far. */
const spentMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };

/** Changes some bytes, cuts, repeats, or inserts. */
function mutate(bytes, draw) {
  const made = Buffer.from(bytes);
  const kind = draw(10);
  if (kind === 0) return made.subarray(0, draw(made.length + 1));
  if (kind === 1) return Buffer.concat([made.subarray(0, draw(made.length)), made.subarray(draw(made.length))]);
  if (kind === 2) return Buffer.concat([made, Buffer.from(Uint8Array.from({ length: draw(200) }, () => draw(256)))]);
  for (let times = 1 + draw(4); times > 0 && made.length; times--) {
    // Headers are where it hurts.
    const at = draw(2) ? draw(made.length) : draw(Math.min(70, made.length));
    made[at] = [0, 255, 127, 128, draw(256)][draw(5)];
  }
  return made;
}

/** Makes the checksums true again, so that the records are looked at. */
function mended(bytes) {
  for (let at = 0; at + 61 <= bytes.length; ) {
    const size = bytes.readInt32BE(at + 8) + 12;
    if (size < 61 || at + size > bytes.length) break;
    if (bytes[at + 16] === 2) bytes.writeUInt32BE(crc32c(bytes, at + 21, at + size), at + 17);
    at += size;
  }
  return bytes;
}

/** Asks everything that the page asks. */
async function askAll(own) {
  for (const { id, kind, count, size } of own.state().files) {
    own.summary({ id });
    await own.bytes({ id, from: 0, length: 64 });
    if (kind !== "log") {
      own.entries({ id, first: 0, count: 20 });
      continue;
    }
    await own.rows({ id, first: 0, count: 20 });
    if (count) await own.find({ id, position: Math.floor(size / 2) });
    for (let row = 0; row < Math.min(4, count); row++) {
      await own.batch({ id, row, meaning: ["plain", "offsets", "transactions"][row % 3] });
      await own.hex({ id, row, from: 0, length: 512 });
    }
  }
}

test("arbitrary bytes cause neither an exception nor a hang", async () => {
  const draw = random(11);
  const all = partitions.map(([folder]) => given(folder).map(({ name, source }) => ({ name, folder: "p-0", source })));
  const contents = await Promise.all(all.map((files) => Promise.all(files.map(async ({ name, source }) => [name, Buffer.from(await source.arrayBuffer())]))));
  const texts = JSON.parse(readFileSync(join(lab, "i18n", "en.json"), "utf8"));
  for (let round = 0; round < ROUNDS; round++) {
    const files = contents[draw(contents.length)];
    const chosen = files[draw(files.length)];
    const own = new OwnFiles();
    const began = spentMs();
    await own.add(files.map(([name, bytes]) => {
      if (name !== chosen[0]) return { name, folder: "", source: new Blob([bytes]) };
      const changed = mutate(bytes, draw);
      return { name, folder: "", source: new Blob([draw(2) && name.endsWith(".log") ? mended(changed) : changed]) };
    }));
    await askAll(own);
    for (const rule of rulesOf(own)) assert.ok(`own.rule.${rule}` in texts, rule);
    const took = spentMs() - began;
    assert.ok(took < LONGEST_MS, `round ${round} took ${took} ms`);
  }
});

test("invalid compressed bytes are refused or read, without a hang", () => {
  const draw = random(5);
  const plain = Buffer.from(Array.from({ length: 300 }, (_, n) => `{"id":${n},"user":"u${draw(50)}"}`).join("\n"));
  const squeezed = new Uint8Array(zlib.zstdCompressSync(plain));
  // Literals "ab", then eight bytes from two back; xerial's framing is in the golden files.
  const seeds = [[zstd, squeezed], [snappy, Uint8Array.of(10, 4, 97, 98, 0b00011101, 2)], [lz4, Uint8Array.of(4, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, 6, 0, 0, 0, 0x24, 97, 98, 2, 0, 0, 0, 0, 0, 0)]];
  for (let round = 0; round < ROUNDS; round++)
    for (const [read, seed] of seeds) {
      const began = spentMs();
      try {
        read(new Uint8Array(mutate(Buffer.from(seed), draw)), MOST);
      } catch (error) {
        assert.ok(error.rule, `${read.name}: ${error.stack}`);
      }
      assert.ok(spentMs() - began < LONGEST_MS);
    }
});

// --- texts and the sample ---------------------------------------------------------------------------------------------------------------

test("exactly the rules that the sources name have a name and a sentence in both languages", () => {
  const folder = join(lab, "own_files");
  const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
  const named = new Set([...sources.matchAll(/(?:Unreadable|\.add|#wrong|#stop)\("([a-z_]+)"|rule: "([a-z_]+)"/g)].map(([, a, b]) => a ?? b));
  assert.ok(named.size > 50, `only ${named.size}`);
  for (const language of ["en", "zh-CN"]) {
    const texts = JSON.parse(readFileSync(join(lab, "i18n", `${language}.json`), "utf8"));
    const known = Object.keys(texts).filter((key) => key.startsWith("own.rule.")).map((key) => key.slice(9));
    for (const rule of named) assert.ok(`own.rule.${rule}` in texts && `own.name.${rule}` in texts, `${language}: ${rule}`);
    for (const rule of known) assert.ok(sources.includes(`"${rule}"`), `nothing breaks the rule ${rule}`);
  }
});

test("the sample is a log with a torn tail", async () => {
  const own = new OwnFiles();
  await own.add(Object.entries(SAMPLE.files).map(([name, content]) => ({ name, folder: SAMPLE.folder, source: new Blob([Buffer.from(content, "base64")]) })));
  assert.deepEqual(rulesOf(own), ["torn_tail", "index_beyond"]);
});
