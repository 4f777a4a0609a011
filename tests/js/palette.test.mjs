// The palette of tokens.css: legible everywhere, and distinguishable with any colour vision.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync(new URL("../../static/lab/css/base/tokens.css", import.meta.url), "utf-8");
const themes = Object.fromEntries(["dark", "light"].map((name) => {
  const block = css.match(new RegExp(`\\[data-theme="${name}"\\]\\s*\\{([^}]*)\\}`))[1];
  return [name, Object.fromEntries([...block.matchAll(/--([\w-]+):\s*#([0-9a-f]{6})\b/gi)].map(([, key, hex]) => [key, rgb(hex)]))];
}));

function rgb(hex) {
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
}

const linear = (colour) => colour.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
const gamma = (colour) => colour.map((c) => Math.min(1, Math.max(0, c))).map((c) => (c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055));
const luminance = (colour) => linear(colour).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);

function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

function oklab(colour) {
  const [r, g, b] = linear(colour);
  const [l, m, s] = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
    .map(([x, y, z]) => Math.cbrt(x * r + y * g + z * b));
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

/** Machado, Oliveira and Fernandes 2009, severity 1. */
const VISION = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const seen = (colour, matrix) => gamma(matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * linear(colour)[i], 0)));

const HUES = ["leader", "isr", "outisr", "offline", "danger", "select"];
const INKS = ["ink", "ink2", "ink3", "leader-ink", "isr-ink", "outisr-ink", "offline-ink", "danger-ink", "select-ink", "produce", "fetch", "control", "group", "zk"];

for (const [name, theme] of Object.entries(themes)) {
  test(`${name}: words are legible on every ground`, () => {
    for (const ink of INKS)
      for (const ground of ["bg", "panel", "raise"]) {
        const ratio = contrast(theme[ink], theme[ground]);
        assert.ok(ratio >= 4.5, `${ink} on ${ground}: ${ratio.toFixed(2)}`);
      }
  });

  test(`${name}: marks stand out from their ground`, () => {
    for (const hue of [...HUES, "hw"]) {
      const ratio = contrast(theme[hue], theme.panel);
      assert.ok(ratio >= 3, `${hue}: ${ratio.toFixed(2)}`);
    }
  });

  test(`${name}: words on filled pills, on the flag and on the primary button are legible`, () => {
    for (const family of ["produce", "fetch", "control", "group", "zk"]) {
      const ratio = contrast(theme["pill-ink"], theme[family]);
      assert.ok(ratio >= 4.5, `${family}: ${ratio.toFixed(2)}`);
    }
    assert.ok(contrast(theme["hw-ink"], theme.hw) >= 7);
    assert.ok(contrast(theme["primary-ink"], theme.primary) >= 4.5);
  });

  test(`${name}: roles, alarm and selection differ with any colour vision`, () => {
    for (const [vision, matrix] of Object.entries(VISION))
      for (const [i, a] of HUES.entries())
        for (const b of HUES.slice(i + 1)) {
          const [p, q] = [a, b].map((hue) => oklab(seen(theme[hue], matrix)));
          const distance = Math.hypot(...p.map((x, k) => x - q[k]));
          assert.ok(distance >= 0.085, `${a} and ${b}, ${vision}: ${distance.toFixed(3)}`);
        }
  });
}
