// What eslint checks in the page's modules; `make check` runs it where there is Node. Types are checked by tsc (jsconfig.json).
import { createRequire } from "node:module";

const { resolve } = createRequire(new URL("./tools/vendor/package.json", import.meta.url));
const { default: js } = await import(resolve("@eslint/js"));
const { default: globals } = await import(resolve("globals"));

export default [
  { ignores: ["static/vendor", "static/lab/connect", "**/*.gen.js", "**/node_modules", "artifacts", "build", "data"] },
  {
    files: ["static/lab/**/*.js"],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { globals: { ...globals.browser } },
    rules: {
      ...js.configs.recommended.rules,
      complexity: ["error", 20],
      eqeqeq: "error",
      "max-len": ["error", { code: 140 }],
      "max-lines": ["error", 500],
      "max-lines-per-function": ["error", 60],
      "no-else-return": ["error", { allowElseIf: true }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  // Base64 of the example's files.
  { files: ["static/lab/ui/pages/inspect_files/sample.js"], rules: { "max-len": "off" } },
];
