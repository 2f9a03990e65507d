"use strict";

const path = require("node:path");
const vscode = require("vscode");

const ID = "workfile-tools.workfile";

/** The folder that is open, a copy of the examples. */
exports.folder = () => vscode.workspace.workspaceFolders[0].uri;

exports.file = (...names) => vscode.Uri.joinPath(exports.folder(), ...names);

/** The activated extension's interface, its language server running. */
exports.api = async () => {
  const extension = vscode.extensions.getExtension(ID);
  const api = await extension.activate();
  await api.ready();
  return api;
};

exports.open = async (...names) => {
  const document = await vscode.workspace.openTextDocument(exports.file(...names));
  return vscode.window.showTextDocument(document);
};

/** Asks until the answer is truthy. */
exports.until = async (what, ask, seconds = 20) => {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer) {
      return answer;
    }
    if (Date.now() > end) {
      throw new Error(`Waited ${seconds} s in vain for ${what}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

/** Replaces a text of the document in an editor. */
exports.replace = async (editor, from, to) => {
  const { document } = editor;
  const start = document.getText().indexOf(from);
  if (start < 0) {
    throw new Error(`\`${from}\` is not in ${path.basename(document.fileName)}.`);
  }
  const range = new vscode.Range(document.positionAt(start), document.positionAt(start + from.length));
  await editor.edit((edit) => edit.replace(range, to));
};

exports.positionOf = (document, text, offset = 0) => document.positionAt(document.getText().indexOf(text) + offset);

exports.revert = () => vscode.commands.executeCommand("workbench.action.files.revert");
