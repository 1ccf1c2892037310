/**
 * Makes the site's scripts of their sources and of the packages that they use, with the licence beside them:
 * explore/explorables.min.js with parts of D3 and what all explorables share, a script for each of them, such as
 * explore/growth.min.js, and search/search.min.js.
 *
 *     node bundle.js [folder [explorables]]
 *
 * The folder is book/_static, and that of the explorables sdpa_book/explorables, unless others are given. The same
 * versions give the same bytes.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "../_static"));
const sources = resolve(process.argv[3] ?? join(here, "../../sdpa_book/explorables"));
const search = join(here, "../_ext/website/search");

const COMMON = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  nodePaths: [join(here, "node_modules")], // the sources lie elsewhere
};

/** An explorable is a folder with a script of its name. */
const explorables = readdirSync(sources).filter((name) =>
  existsSync(join(sources, name, `${name}.js`)),
);

const shared = readFileSync(join(sources, "_shared/main.js"), "utf8");

/** In an explorable's own script, a file of the folder _shared is one that came with the shared script. */
const fromWhatTheyShare = {
  name: "from what they share",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.\/_shared\/\w+\.js$/ }, ({ path, importer }) => {
      const name = path.slice("../_shared/".length, -3);
      return shared.includes(`from "./${name}.js"`)
        ? { path: name, namespace: "shared" }
        : { errors: [{ text: `${importer} needs ${path}, which main.js doesn't share` }] };
    });
    onLoad({ filter: /./, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = Explorables.${path}`,
    }));
  },
};

const read = (name, start) => {
  const file = readdirSync(join(here, "node_modules", name)).find((file) => file.startsWith(start));
  return readFileSync(join(here, "node_modules", name, file), "utf8");
};

/** Bundles what `entry` imports as `script`, and writes the licence that its packages share. */
async function bundle({ entry, script, banner, licence, named, ...options }) {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [entry],
    outfile: join(folder, script),
    metafile: true,
    banner: { js: `/* Made by book/_bundler/bundle.js. It holds ${banner} */` },
    ...options,
  });
  const inputs = Object.keys(metafile.outputs).flatMap((name) =>
    Object.entries(metafile.outputs[name].inputs),
  );
  const bundled = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  const packages = [...new Set(bundled.map((path) => /^node_modules\/([^/]+)/.exec(path)?.[1]))]
    .filter(Boolean)
    .sort();
  const versions = packages.map(
    (name) => `  ${name}@${JSON.parse(read(name, "package.json")).version}`,
  );
  const licences = packages.map((name) => read(name, "LICENSE"));
  const holders = [...new Set(licences.map((text) => /^Copyright.*$/m.exec(text)[0]))].sort();
  writeFileSync(
    join(folder, licence),
    `${script.split("/")[1]} holds parts of these packages from https://www.npmjs.com, under the ${named} licence:

${versions.join("\n")}

${holders.join("\n")}

${/^Permission[^]*/m.exec(licences[0])[0]}`,
  );
}

await bundle({
  entry: join(sources, "_shared/main.js"),
  script: "explore/explorables.min.js",
  globalName: "Explorables",
  alias: { "d3-interpolate": join(sources, "_shared/interpolate.js") }, // less than half as much to load as what mixes colours
  banner: "parts of D3, https://d3js.org, ISC licence: see LICENSE-d3.txt",
  licence: "explore/LICENSE-d3.txt",
  named: "ISC",
});
const scripts = join(folder, "explore");
for (const file of existsSync(scripts) ? readdirSync(scripts) : []) {
  const [name] = file.split(".min.js");
  if (file.endsWith(".min.js") && name !== "explorables" && !explorables.includes(name)) {
    rmSync(join(scripts, file)); // an explorable that is no more
  }
}
/** The text of a worker, which is what a page in a folder makes one of: it stands for WORKER in what is bundled. */
const workerIn = async (entry) => {
  const { outputFiles } = await build({ ...COMMON, entryPoints: [entry], write: false });
  return { WORKER: JSON.stringify(outputFiles[0].text) };
};

for (const name of explorables) {
  const worker = join(sources, name, "worker.js");
  await build({
    ...COMMON,
    entryPoints: [join(sources, name, `${name}.js`)],
    outfile: join(folder, `explore/${name}.min.js`),
    globalName: `Explorable.${name}`,
    define: existsSync(worker) ? await workerIn(worker) : {},
    banner: { js: "/* Made by book/_bundler/bundle.js. */" },
    plugins: [fromWhatTheyShare],
  });
}
await build({
  ...COMMON,
  entryPoints: [join(search, "main.js")],
  outfile: join(folder, "search/search.min.js"),
  define: await workerIn(join(search, "worker.js")),
  banner: { js: "/* Made by book/_bundler/bundle.js. */" },
});
