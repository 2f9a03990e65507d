/** The page of a webview: a strict content security policy, one script, one style sheet, nothing inline. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

export function webviewOptions(extension: vscode.Uri): vscode.WebviewOptions {
  const localResourceRoots = [vscode.Uri.joinPath(extension, "dist"), vscode.Uri.joinPath(extension, "media")];
  return { enableScripts: true, localResourceRoots };
}

/** The HTML that loads `dist/NAME.js` and `media/NAME.css`. */
export function pageOf(webview: vscode.Webview, extension: vscode.Uri, name: string, title: string): string {
  const nonce = randomBytes(18).toString("base64");
  const uri = (...path: string[]): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, ...path)).toString();
  const policy = [
    "default-src 'none'",
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    `script-src 'nonce-${nonce}'`,
    "form-action 'none'",
    "base-uri 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1.0">
<title>${title}</title>
<link rel="stylesheet" href="${uri("media", "common.css")}">
<link rel="stylesheet" href="${uri("media", "timeline.css")}">
<link rel="stylesheet" href="${uri("media", `${name}.css`)}">
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" src="${uri("dist", `${name}.js`)}"></script>
</body>
</html>`;
}
