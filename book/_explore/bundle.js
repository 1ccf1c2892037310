/**
 * Makes explorables.min.js, one classic script of src and of the parts of D3 that it uses, and LICENSE-d3.txt beside it.
 *
 *     node bundle.js [folder]
 *
 * The folder is book/_static/explore unless another one is given. The same versions give the same bytes.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "../_static/explore"));

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.js"],
  outfile: join(folder, "explorables.min.js"),
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Explorables",
  target: "es2020",
  charset: "utf8",
  metafile: true,
  banner: {
    js: "/* Made from book/_explore by bundle.js. It holds parts of D3, https://d3js.org, ISC licence: see LICENSE-d3.txt */",
  },
});

const inputs = Object.keys(metafile.outputs).flatMap((name) =>
  Object.entries(metafile.outputs[name].inputs),
);
const bundled = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
const packages = [...new Set(bundled.map((path) => /^node_modules\/([^/]+)/.exec(path)?.[1]))]
  .filter(Boolean)
  .sort();
const read = (name, start) => {
  const file = readdirSync(join(here, "node_modules", name)).find((file) => file.startsWith(start));
  return readFileSync(join(here, "node_modules", name, file), "utf8");
};
const versions = packages.map(
  (name) => `  ${name}@${JSON.parse(read(name, "package.json")).version}`,
);
const licences = packages.map((name) => read(name, "LICENSE"));
const holders = [...new Set(licences.map((text) => /^Copyright.*$/m.exec(text)[0]))].sort();
writeFileSync(
  join(folder, "LICENSE-d3.txt"),
  `explorables.min.js holds parts of these packages from https://www.npmjs.com, under the ISC licence:

${versions.join("\n")}

${holders.join("\n")}

${/^Permission[^]*/m.exec(licences[0])[0]}`,
);
