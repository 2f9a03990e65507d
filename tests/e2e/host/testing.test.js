"use strict";

const assert = require("node:assert/strict");
const vscode = require("vscode");
const { api, file, folder, open, replace } = require("./helpers");

describe("scenarios in the Testing view", () => {
  it("are found, each below its folder", async () => {
    const { scenarios } = await api();
    await vscode.commands.executeCommand("testing.refreshTests");
    const found = [];
    scenarios.items.forEach((parent) => parent.children.forEach((item) => found.push(item.label)));
    const files = await vscode.workspace.findFiles(new vscode.RelativePattern(folder(), "**/*.scenario.yaml"));
    assert.equal(found.length, files.length);
    assert.ok(found.includes("payout-answer-lost"), found.join(", "));
  });

  it("pass, and fail with the difference", async () => {
    const { runScenarios } = await api();
    const uri = file("scenarios", "payout-answer-lost.scenario.yaml");
    assert.deepEqual(await runScenarios([uri]), { passed: 1, failed: 0, errored: 0 });
    const editor = await open("scenarios", "payout-answer-lost.scenario.yaml");
    const before = editor.document.getText();
    await replace(editor, "status: succeeded", "status: failed");
    assert.deepEqual(await runScenarios([uri]), { passed: 0, failed: 1, errored: 0 });
    await replace(editor, "expect:", "expects:");
    assert.deepEqual(await runScenarios([uri]), { passed: 0, failed: 0, errored: 1 });
    await vscode.workspace.fs.writeFile(uri, Buffer.from(before));
  });
});
