// Runs the tests beside this file in the extension host of the workbench; the result goes to the page that opened it.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");
const Mocha = require("mocha");

// The page gets whatever anything in the extension host writes: this marks what the tests say.
const MARK = "[e2e] ";
Mocha.reporters.Base.consoleLog = (...words) => {
  for (const line of util.format(...words).split("\n")) {
    console.log(MARK + line);
  }
};

exports.run = async function run() {
  const mocha = new Mocha({ ui: "bdd", color: false, timeout: 60_000, reporter: "spec" });
  for (const name of fs.readdirSync(__dirname).sort()) {
    if (name.endsWith(".test.js")) {
      mocha.addFile(path.join(__dirname, name));
    }
  }
  const failures = await new Promise((resolve) => mocha.run(resolve));
  if (failures > 0) {
    throw new Error(`${failures} tests failed.`);
  }
};
