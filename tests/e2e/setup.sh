#!/usr/bin/env bash
# Makes ready what tests/e2e drives: the workbench (VS Code as code-server packages it), a browser, and the extension.
# Does nothing when all is there. Needs Linux on x64, Node 20 with npm, and the npm registry.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
extension=../../vscode-extension

command -v npm >/dev/null || { echo "npm (Node 20 or newer) is needed and was not found." >&2; exit 1; }
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "The pinned Node of the workbench is for Linux on x64." >&2; exit 1; }

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null
  else
    echo "Chromium is needed and was not found: install the package chromium." >&2
    exit 1
  fi
fi

# What was installed is marked with what was asked for, so that a change of the lock file installs again.
wanted=$(sha256sum package-lock.json | cut -d' ' -f1)
if [ "$(cat node_modules/.workfile-e2e 2>/dev/null)" != "$wanted" ]; then
  rm -rf node_modules
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  server=node_modules/code-server/lib/vscode
  # Optional dependencies stay: the file watcher is one of them.
  (cd "$server" && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error)
  rm -rf "$server"/node_modules/{@github,@microsoft/mxc-sdk,@devcontainers} "$server"/extensions/{copilot,microsoft-authentication}
  echo "$wanted" >node_modules/.workfile-e2e
fi

newest=$(find "$extension"/{src,media,syntaxes,walkthrough,package.json,language-configuration.json,build.mjs,package.mjs} -newer "$extension/workfile.vsix" -print -quit 2>/dev/null || true)
if [ ! -f "$extension/workfile.vsix" ] || [ -n "$newest" ]; then
  "$extension/ci.sh"
fi
