// Makes static/vendor again from the packages that tools/vendor/package-lock.json pins. For maintainers: a lab needs neither
// node nor npm. `node tools/vendor.mjs`, then `git diff static/vendor`: with the same lock a second run changes no byte.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "vendor");
const packages = join(here, "node_modules");
const target = join(here, "..", "..", "static", "vendor");

// What each package gives: files to copy (ours: theirs) or a bundle to make, and the name modules import it by.
const WANTED = [
  {
    package: "lit",
    module: "lit.js",
    // One file instead of the thirty that Lit ships, with just the directives the page uses.
    bundle: `
      export * from "lit";
      export { live } from "lit/directives/live.js";
      export { repeat } from "lit/directives/repeat.js";`,
    copy: { LICENSE: "LICENSE" },
  },
  { package: "@preact/signals-core", name: "signals-core", module: "signals-core.js", bundle: 'export * from "@preact/signals-core";', copy: { LICENSE: "LICENSE" } },
  { package: "plotly.js-cartesian-dist-min", name: "plotly", copy: { "plotly.js": "plotly-cartesian.min.js", LICENSE: "LICENSE" } },
  { package: "@fontsource-variable/inter", name: "inter", copy: { "inter.woff2": "files/inter-latin-wght-normal.woff2", LICENSE: "LICENSE" } },
  {
    package: "@fontsource-variable/jetbrains-mono",
    name: "jetbrains-mono",
    copy: { "jetbrains-mono.woff2": "files/jetbrains-mono-latin-wght-normal.woff2", LICENSE: "LICENSE" },
  },
];

const sha384 = (bytes) => "sha384-" + createHash("sha384").update(bytes).digest("base64");

function filesBelow(directory) {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(directory, entry.name)) : [join(directory, entry.name)]))
    .sort();
}

execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: here, stdio: "inherit" });
const pinned = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8")).packages;
const { buildSync } = createRequire(join(here, "package.json"))("esbuild");

rmSync(target, { recursive: true, force: true });
const lock = { imports: {}, packages: [] };
for (const wanted of WANTED) {
  const name = wanted.name ?? wanted.package;
  const { version, license, integrity } = pinned[`node_modules/${wanted.package}`];
  const folder = `${name}@${version}`;
  mkdirSync(join(target, folder), { recursive: true });
  for (const [ours, theirs] of Object.entries(wanted.copy)) {
    writeFileSync(join(target, folder, ours), readFileSync(join(packages, wanted.package, theirs)));
  }
  if (wanted.bundle) {
    buildSync({
      stdin: { contents: wanted.bundle, resolveDir: here },
      outfile: join(target, folder, wanted.module),
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2022",
      legalComments: "eof",
    });
    lock.imports[wanted.package] = `${folder}/${wanted.module}`;
  }
  const files = {};
  for (const path of filesBelow(join(target, folder))) {
    files[relative(join(target, folder), path)] = { sha384: sha384(readFileSync(path)), bytes: statSync(path).size };
  }
  lock.packages.push({ name: wanted.package, version, licence: license, tarball: integrity, folder, files });
}
writeFileSync(join(target, "vendor.lock.json"), JSON.stringify(lock, null, 2) + "\n");
