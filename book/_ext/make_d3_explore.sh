#!/bin/sh
# Makes d3-explore.min.js and LICENSE-d3.txt in book/_static/explore: the parts of D3 that the explorables draw with, in one classic
# script that sets the global d3Explore. Needs node 18 or newer and npm. The same versions give the same bytes.
set -eu

here=$(cd "$(dirname "$0")/../_static/explore" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# What D3 7.9.0 is made of, as far as it ends up in the bundle, directly or not; then the bundler.
packages="d3-array@3.2.4 d3-axis@3.0.0 d3-color@3.1.0 d3-dispatch@3.0.1 d3-drag@3.0.0 d3-format@3.1.0 d3-interpolate@3.0.1
d3-path@3.1.0 d3-scale@4.0.2 d3-selection@3.0.0 d3-shape@3.2.0 d3-time@3.1.0 d3-time-format@4.1.0 internmap@2.0.3"
echo '{"private": true}' > package.json
npm install --no-audit --no-fund --save-exact --ignore-scripts $packages esbuild@0.28.2

cat > entry.js <<'END'
export { axisBottom, axisLeft } from "d3-axis";
export { drag } from "d3-drag";
export { format } from "d3-format";
export { scaleBand, scaleLinear, scaleLog } from "d3-scale";
export { select } from "d3-selection";
export { area, line, symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTimes, symbolTriangle } from "d3-shape";
END
node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=d3Explore --target=es2020 \
  --legal-comments=none --banner:js="/* Parts of D3, https://d3js.org, ISC licence: see LICENSE-d3.txt */" \
  --outfile="$here/d3-explore.min.js"

{
  echo "d3-explore.min.js is a bundle, made by book/_ext/make_d3_explore.sh, of these packages from https://www.npmjs.com, under the ISC licence:"
  echo
  for package in $packages; do echo "  $package"; done
  echo
  for package in $packages; do
    grep -h '^Copyright' "node_modules/${package%@*}/LICENSE"
  done | sort -u
  echo
  sed -n '/^Permission/,$p' node_modules/d3-scale/LICENSE
} > "$here/LICENSE-d3.txt"
