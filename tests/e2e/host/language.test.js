"use strict";

const assert = require("node:assert/strict");
const vscode = require("vscode");
const { api, open, positionOf, replace, revert, until } = require("./helpers");

describe("the language", () => {
  before(api);

  it("knows its files", async () => {
    for (const [names, language] of [
      [["order.workfile.yaml"], "workfile"],
      [["connectors", "bank.connector.yaml"], "workfile-connector"],
      [["connectors", "messaging.overlay.yaml"], "workfile-connector"],
      [["scenarios", "payout-answer-lost.scenario.yaml"], "workfile-scenario"],
    ]) {
      const { document } = await open(...names);
      assert.equal(document.languageId, language, names.join("/"));
    }
  });

  it("shows findings over text that is not saved, and takes them back", async () => {
    const editor = await open("order.workfile.yaml");
    const uri = editor.document.uri;
    await replace(editor, "payments.charge:", "payments.chrage:");
    const found = await until("a finding", () => vscode.languages.getDiagnostics(uri).find((each) => each.source === "workfile" && each.severity === 0));
    assert.match(found.message, /no action `chrage`/);
    assert.equal(editor.document.getText(found.range), "payments.chrage");
    const actions = await vscode.commands.executeCommand("vscode.executeCodeActionProvider", uri, found.range);
    assert.ok(actions.length > 0, "there are quick fixes");
    await revert();
    await until("no errors", () => vscode.languages.getDiagnostics(uri).every((each) => each.severity !== 0));
  });

  it("completes actions and what expressions can read", async () => {
    const editor = await open("order.workfile.yaml");
    await replace(editor, "{{ inputs.address }}", "{{ inputs. }}");
    const position = positionOf(editor.document, "{{ inputs. }}", "{{ inputs.".length);
    const list = await until("completions", async () => {
      const answer = await vscode.commands.executeCommand("vscode.executeCompletionItemProvider", editor.document.uri, position);
      return answer.items.length > 0 ? answer : null;
    });
    const labels = list.items.map((item) => (typeof item.label === "string" ? item.label : item.label.label));
    assert.ok(labels.includes("address"), labels.join(", "));
    assert.ok(labels.includes("lines"), labels.join(", "));
    await revert();
  });

  it("tells on hover what an action does, and goes to its manifest", async () => {
    const { document } = await open("order.workfile.yaml");
    const position = positionOf(document, "payments.charge", 10);
    const [hover] = await vscode.commands.executeCommand("vscode.executeHoverProvider", document.uri, position);
    assert.ok(hover.contents.some((each) => each.value.includes("payments.charge")));
    const [target] = await vscode.commands.executeCommand("vscode.executeDefinitionProvider", document.uri, position);
    assert.match((target.targetUri ?? target.uri).path, /payments\.connector\.yaml$/);
  });

  it("formats", async () => {
    const editor = await open("order.workfile.yaml");
    await replace(editor, "  amount: integer", "  amount:    integer");
    const edits = await vscode.commands.executeCommand("vscode.executeFormatDocumentProvider", editor.document.uri, { tabSize: 2, insertSpaces: true });
    assert.ok(edits.length > 0);
    await revert();
  });

  it("offers code lenses whose commands exist", async () => {
    const { document } = await open("order.workfile.yaml");
    const lenses = await until("code lenses", async () => {
      const all = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri, 20);
      return all.length > 0 ? all : null;
    });
    const commands = new Set(await vscode.commands.getCommands());
    const used = lenses.flatMap((lens) => (lens.command && lens.command.command ? [lens.command.command] : []));
    assert.ok(used.includes("workfile.simulate"), used.join(", "));
    assert.deepEqual(used.filter((each) => !commands.has(each)), []);
  });
});
