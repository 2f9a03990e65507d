// Bundles the extension, its worker and the scripts of its webviews into dist/.
import { build, context } from "esbuild";
import { rmSync } from "node:fs";

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");

const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : "linked",
  logLevel: "warning",
  legalComments: "none",
  outdir: "dist",
};
const host = {
  ...common,
  entryPoints: { extension: "src/extension.ts", layout: "src/layout.ts" },
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
};
const webview = {
  ...common,
  entryPoints: {
    simulation: "src/webview/simulation.ts",
    graph: "src/webview/graph.ts",
    matrix: "src/webview/matrix.ts",
    history: "src/webview/history.ts",
  },
  platform: "browser",
  target: "es2022",
  format: "iife",
};

rmSync("dist", { recursive: true, force: true });
if (watch) {
  for (const options of [host, webview]) {
    await (await context(options)).watch();
  }
} else {
  await Promise.all([build(host), build(webview)]);
}
