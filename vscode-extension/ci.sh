#!/usr/bin/env bash
# Builds the extension as it is released: installs, type-checks, bundles, packages, and checks the size of the .vsix.
# Needs Node 20 and the npm registry, no browser and no VS Code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

command -v npm >/dev/null || { echo "npm (Node 20 or newer) is needed and was not found." >&2; exit 1; }
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || { echo "Node 20 or newer is needed, this is $(node --version)." >&2; exit 1; }

# Scripts of dependencies are not run: esbuild and the compiler come as binaries of their platform packages.
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
npm run --silent check
npm run --silent package
