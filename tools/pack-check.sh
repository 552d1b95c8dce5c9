#!/bin/bash
# Packs the app around an empty Electron and runs what was packed: shows that everything needed is in the package,
# where Electron's binary can't be had. It can't show that the package starts as a window.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"
node tools/build.mjs --if-stale
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir -p "$tmp/electron/resources" "$tmp/electron/locales" "$tmp/empty"
echo '{}' >"$tmp/empty/package.json"
asar pack "$tmp/empty" "$tmp/electron/resources/default_app.asar"
printf '#!/bin/sh\n' >"$tmp/electron/electron"
chmod +x "$tmp/electron/electron"
touch "$tmp/electron/LICENSE" "$tmp/electron/LICENSES.chromium.html" "$tmp/electron/chrome-sandbox" "$tmp/electron/locales/en-US.pak"

# fuses are bits in the real binary, which is not here
sed '/^electronFuses/,/^[a-z]/{/^electronFuses/d;/^  /d}' config/electron-builder.yml >"$tmp/builder.yml"
electron-builder --linux --dir --config "$tmp/builder.yml" -c.electronDist="$tmp/electron" -c.directories.output="$tmp/packed"

asar extract "$tmp/packed/linux-unpacked/resources/app.asar" "$tmp/app"
for part in out/main/index.js out/main/serve.js out/main/cli.js out/preload/preload.cjs out/renderer/index.html LICENSE; do
  [ -f "$tmp/app/$part" ] || { echo "missing in the package: $part" >&2; exit 1; }
done
diff -r resources "$tmp/app/resources"
for document in MODEL KERNELS FORMATS; do # the sources of numbers cite them
  cmp "docs/$document.md" "$tmp/packed/linux-unpacked/resources/docs/$document.md"
done
if find "$tmp/app" -name '*.map' -o -name '*.test.ts' | grep .; then
  echo "the package holds files that only development needs" >&2
  exit 1
fi
# the command line of the package itself: resources, worker threads and the native module are all in use
export TRAINYARD_DATA_DIR="$tmp/data"
cli() { node "$tmp/app/out/main/cli.js" "$@"; }
cli plan preset:llama-3.1-8b@8xh100-80gb-sxm --top 1 --json | node -e '
  const { best } = JSON.parse(require("fs").readFileSync(0, "utf8"));
  if (best.length !== 1) throw new Error("the packed command line found no plan");'
echo "packed $(du -sh "$tmp/packed/linux-unpacked/resources" | cut -f1); its command line says $(cli --version) and finds a plan"
