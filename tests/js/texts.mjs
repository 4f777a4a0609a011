// The merged catalogues, as the server gives them to the page.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { Texts } from "../../static/lab/core/texts.js";

const root = new URL("../../", import.meta.url).pathname;
/** @param {string} path */
const read = (path) => JSON.parse(readFileSync(join(root, path), "utf-8"));

/** @param {string} language */
function merged(language) {
  const folder = `broker_core/texts/${language}`;
  const families = readdirSync(join(root, folder)).map((name) => read(join(folder, name)));
  return Object.assign({}, read(`static/lab/i18n/${language}.json`), ...families);
}

export const texts = { en: new Texts(merged("en"), "en"), zh: new Texts(merged("zh-CN"), "zh-CN") };
