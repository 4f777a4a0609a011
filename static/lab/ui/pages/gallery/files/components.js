// Every element of the page that inspects files, in fixed states.
import "../../inspect_files/main.js";
import { html } from "../../../kit/element.js";
import { add, answerOf, batch, choose, chosen, clear, file, meaning, state } from "../../inspect_files/client.js";
import { SAMPLE } from "../../inspect_files/sample.js";

/** @import { LogSummary } from "../../../../own_files/own_files.js" */
/** @import { Group, Shown } from "../frame.js" */

/** Resolves when all files are read. */
const read = () => new Promise((resolve) => {
  const stop = state.subscribe(({ busy, files }) => {
    if (busy || !files.length || files.some(({ status }) => status !== "done")) return;
    queueMicrotask(() => stop());
    resolve(files);
  });
});

/** Reads files, and shows the first that has the end of a name. @param {Record<string, Uint8Array>} files @param {string} end */
async function show(files, end) {
  await clear();
  await add(Object.entries(files).map(([name, bytes]) =>
    ({ source: new Blob([/** @type {BlobPart} */ (bytes)]), name, folder: SAMPLE.folder })));
  await read();
  const found = state.peek().files.find(({ name }) => name.endsWith(end));
  if (found) choose(found.id);
}

const PARTITION = Object.fromEntries(Object.entries(SAMPLE.files)
  .map(([name, content]) => [name, Uint8Array.from(atob(content), (char) => char.charCodeAt(0))]));
/** A log of which a byte was changed, so that its checksum is not that of its content. */
const DAMAGED = Object.fromEntries(Object.entries(PARTITION).filter(([name]) => name.startsWith("00000000000000000022"))
  .map(([name, bytes]) => [name, name.endsWith(".log") ? bytes.with(90, 0x55) : bytes]));

/** @param {string} state @param {string} end @param {string} until @param {typeof PARTITION} [files] @returns {Shown} */
const content = (state, end, until, files = PARTITION) => ({
  tag: "hw-own-content", state, frame: "tall own", set: () => show(files, end), until, body: () => html`<section class="own-content">
    <hw-own-content></hw-own-content></section>`,
});

/** @type {Group} */
const FILES = {
  shown: [
    { tag: "hw-own-files", state: "of nobody", frame: "tall own", set: () => {}, body: () => html`<hw-own-files></hw-own-files>` },
    {
      tag: "hw-own-files",
      state: "of a partition",
      frame: "tall own",
      set: () => show(PARTITION, ".log"),
      until: "hw-own-batch .bytes",
      body: () => html`<hw-own-files></hw-own-files>`,
    },
    {
      tag: "hw-own-files",
      state: "with damage",
      frame: "tall own",
      set: () => show(DAMAGED, ".log"),
      until: "hw-own-batch:has(.message.bad) .bytes",
      body: () => html`<hw-own-files></hw-own-files>`,
    },
    {
      tag: "hw-own-files",
      state: "without batches",
      frame: "tall own",
      set: () => show({ "partition.metadata": PARTITION["partition.metadata"] }, "metadata"),
      until: "hw-own-rows .line[aria-rowindex='2']",
      body: () => html`<hw-own-files></hw-own-files>`,
    },
  ],
};

/** The summary of the log that is shown. @type {LogSummary | null} */
let summary = null;

/** @type {Group} */
const CONTENT = {
  shown: [
    content("of a log", "00000000000000000000.log", ".line[aria-rowindex='3']"),
    content("of an index", "00000000000000000000.index", ".line[aria-rowindex='3']"),
    content("of a snapshot", "00000000000000000022.snapshot", ".line[aria-rowindex='2']"),
    content("of a file of another kind", "photo.jpg", "hw-own-hex .bytes", { "photo.jpg": new Uint8Array(80).fill(0x5a) }),
    {
      tag: "hw-own-rows",
      frame: "low own",
      set: () => show(PARTITION, "00000000000000000022.log"),
      until: ".line[aria-rowindex='3']",
      body: () => html`<section class="own-content"><hw-own-rows .of=${file.value}></hw-own-rows></section>`,
    },
    {
      tag: "hw-own-map",
      frame: "own",
      set: async () => void (summary = /** @type {LogSummary} */ (await answerOf("summary", { id: chosen.peek() }))),
      body: () => html`<section class="own-content"><div class="part head">
        <hw-own-map .summary=${summary} .log=${chosen.value}></hw-own-map></div></section>`,
    },
    {
      tag: "hw-own-hex",
      frame: "own narrow",
      set: () => {},
      until: ".bytes",
      body: () => html`<section class="own-batch"><hw-own-hex .record=${null} .jump=${null}
        .of=${{ what: "hex", id: chosen.value, row: 0, start: 0, end: 154 }}></hw-own-hex></section>`,
    },
    {
      tag: "hw-own-batch",
      state: "of records",
      frame: "own narrow",
      set: () => (batch.value = { id: chosen.value, row: 1 }),
      until: ".bytes",
      body: () => html`<aside class="own-batch"><hw-own-batch></hw-own-batch></aside>`,
    },
    {
      tag: "hw-own-batch",
      state: "of a marker",
      frame: "own narrow",
      set: () => {
        meaning.value = "auto";
        batch.value = { id: chosen.value, row: 6 };
      },
      until: ".bytes",
      body: () => html`<aside class="own-batch"><hw-own-batch></hw-own-batch></aside>`,
    },
    {
      tag: "hw-own-batch",
      state: "of none",
      frame: "own narrow",
      set: () => (batch.value = null),
      body: () => html`<aside class="own-batch"><hw-own-batch></hw-own-batch></aside>`,
    },
  ],
};

/** @type {Record<string, Group>} */
export const GROUPS = { files: FILES, content: CONTENT };
