// Makes the .vsix. `node package.mjs [--wheel FILE]…`: wheels that are named come with it and are what is installed.
import { createVSIX } from "@vscode/vsce";
import { copyFileSync, mkdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";

const LIMIT = 2 * 1024 * 1024;

const wheels = process.argv.flatMap((word, index, all) => (all[index - 1] === "--wheel" ? [word] : []));
rmSync("wheels", { recursive: true, force: true });
if (wheels.length > 0) {
  mkdirSync("wheels");
  for (const wheel of wheels) {
    copyFileSync(wheel, join("wheels", basename(wheel)));
  }
}
const packagePath = "workfile.vsix";
await createVSIX({ packagePath, dependencies: false, skipLicense: false });
const { size } = statSync(packagePath);
console.log(`${packagePath}: ${(size / 1024).toFixed(0)} kB`);
if (wheels.length === 0 && size > LIMIT) {
  console.error(`${packagePath} is larger than ${LIMIT / 1024} kB.`);
  process.exit(1);
}
