// The types of static/vendor/lit@*/lit.js: Lit, and the directives that tools/vendor.mjs bundles with it.
export * from "./node_modules/lit/index.js";
export { live } from "./node_modules/lit/directives/live.js";
export { repeat } from "./node_modules/lit/directives/repeat.js";
