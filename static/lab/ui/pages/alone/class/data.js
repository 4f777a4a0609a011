// The recorded class in the page: answers the replay's requests by address from the page itself.
import { inflate } from "../inflate.js";

/** @import { Manifest } from "../../../../core/replay/manifest.d.ts" */
/** @import { Cue } from "../../replay/captions.js" */
/** @typedef {import("../../../../core/replay/manifest.d.ts").ReplayChapter} Chapter */

/**
 * The page's description, in addition to that of a recording. `left_out`: the voice is not included because of its
 * size.
 * @typedef {Manifest & { saved_ms: number, whole_us: number, version: string, left_out: boolean }} About
 */

/** @param {string} id */
const textOf = (id) => document.getElementById(id)?.textContent ?? "";

/** @param {string} id @returns {Promise<any>} */
const read = async (id) => (document.getElementById(id) ? JSON.parse(await inflate(textOf(id))) : null);

const told = await read("about");
/** @type {About} */
export const about = { ...told, chapters: told.chapters[document.documentElement.lang] ?? told.chapters.en };
/** The licences of the page's contents. */
export const licences = () => textOf("licences");

/** @typedef {(found: string[]) => Promise<unknown>} Part makes the answer from the groups of a pattern */
/** Parts by the suffix of their address. @type {[RegExp, Part][]} */
const PARTS = [
  [/\/manifest\.json$/, async () => about],
  [/\/map\.json$/, () => read("map")],
  [/\/labs\/(\d+)\/index\.json$/, ([, lab]) => read(`lab-${lab}-index`)],
  [/\/labs\/(\d+)\/segments\/(\d+)\.json$/, ([, lab, n]) => read(`lab-${lab}-${n}`)],
  [/\/segments\/(\d+)\.json$/, ([, n]) => read(`class-${n}`)],
  [/\/notes$/, () => read("notes")],
  [/\/captions\/([\w-]+)$/, ([, language]) => read(`captions-${language}`)],
  [/\/search\?q=(.*)$/, ([, text]) => search(decodeURIComponent(text))],
];

/** Answers as the lab would. @type {(address: any) => Promise<any>} */
export const answer = async (address) => {
  for (const [form, part] of PARTS) {
    const found = form.exec(String(address));
    const content = found && (await part(found));
    if (content) return { ok: true, status: 200, json: async () => content };
  }
  return { ok: false, status: 404, json: async () => ({ what: "" }) };
};

/** The instants at which all words occur in chapters, questions, notes and captions. @param {string} text */
async function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const said = await Promise.all(about.captions.map(async ({ language }) => ({ language,
    cues: /** @type {Cue[]} */ ((await read(`captions-${language}`)).cues) })));
  const rows = [
    ...about.chapters.map(({ at_us, title }) => ({ at_us, kind: "chapter", text: title, language: "" })),
    ...about.questions.map((one) => ({ at_us: one.at_us, kind: "question", text: one.text, language: "" })),
    ...((await read("notes")) ?? []).map((/** @type {{ at_us: number, text: string }} */ one) => ({ at_us: one.at_us, kind: "note",
      text: one.text, language: "" })),
    ...said.flatMap(({ language, cues }) => cues.map((one) => ({ at_us: one.from_us, kind: "caption", text: one.text, language }))),
  ];
  return rows.filter((row) => words.length && words.every((word) => row.text.toLowerCase().includes(word)))
    .sort((a, b) => a.at_us - b.at_us);
}

/** @type {Map<number, string>} */
const addresses = new Map();

/** The address of a piece of sound, created on demand. @param {number} piece */
export function soundOf(piece) {
  const known = addresses.get(piece);
  if (known) return known;
  const bytes = Uint8Array.from(atob(textOf(`sound-${piece}`)), (letter) => letter.charCodeAt(0));
  const type = about.audio.pieces.find((one) => one.piece === piece)?.type;
  const made = URL.createObjectURL(new Blob([bytes], { type }));
  addresses.set(piece, made);
  return made;
}
