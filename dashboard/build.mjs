// Builds the dashboard into built/: types from the contract, bundles under names that change with their content, each
// compressed with Brotli and gzip, the page that loads them, and the licences of what is bundled.
import { build } from "esbuild";
import openapiTS, { astToString } from "openapi-typescript";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "built");
const NEXT = join(HERE, "built.next");
const TYPES = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };

await writeTypes();
if (!process.argv.includes("--types")) await writeFiles();

async function writeTypes() {
  const source = new URL("../schemas/openapi.yaml", import.meta.url);
  const text = astToString(await openapiTS(source, { defaultNonNullable: false }));
  const path = join(HERE, "src/api/schema.d.ts");
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
}

async function writeFiles() {
  rmSync(NEXT, { recursive: true, force: true });
  mkdirSync(NEXT);
  const result = await build({
    entryPoints: [join(HERE, "src/main.tsx"), join(HERE, "src/styles/main.css")],
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    metafile: true,
    legalComments: "none",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    outdir: NEXT,
    absWorkingDir: HERE,
    loader: { ".svg": "file" },
    assetNames: "[name]-[hash]",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  const icon = readFileSync(join(HERE, "src/icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  writeFileSync(join(NEXT, iconName), icon);
  const files = {};
  for (const name of readdirSync(NEXT).sort()) {
    compress(name, readFileSync(join(NEXT, name)));
    files[name] = { type: TYPES[name.split(".").pop()] };
  }
  const entry = (suffix) => Object.keys(files).find((name) => name.startsWith("main-") && name.endsWith(suffix));
  const first = Object.entries(result.metafile.outputs).find(([path]) => path.endsWith(entry(".js")))[1];
  const early = first.imports.filter((each) => each.kind === "import-statement").map((each) => each.path.split("/").pop());
  writePage("index.html", page(entry(".js"), entry(".css"), iconName, early));
  writePage("licences.html", licences(result.metafile, entry(".css"), iconName));
  writeFileSync(join(NEXT, "built.json"), JSON.stringify({ files, early: [entry(".js"), entry(".css"), ...early] }, null, 1));
  rmSync(OUT, { recursive: true, force: true });
  renameSync(NEXT, OUT);
}

function writePage(name, text) {
  writeFileSync(join(NEXT, name), text);
  compress(name, Buffer.from(text));
}

function compress(name, data) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: data.length };
  writeFileSync(join(NEXT, `${name}.br`), brotliCompressSync(data, { params }));
  writeFileSync(join(NEXT, `${name}.gz`), gzipSync(data, { level: 9 }));
}

function head(title, style, icon) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/assets/${icon}" type="image/svg+xml">
<link rel="stylesheet" href="/assets/${style}">
`;
}

function page(script, style, icon, early) {
  const links = early.map((name) => `<link rel="modulepreload" href="/assets/${name}">\n`).join("");
  return `${head("Waypost", style, icon)}${links}<script type="module" src="/assets/${script}"></script>
<body><div id="app"></div>
<noscript><main class="page"><h1>Waypost</h1><p>The dashboard needs JavaScript. Without it, use the command line or the API.</p></main></noscript>
`;
}

// The packages whose files are in a bundle, with their licences as they ship them.
function licences(metafile, style, icon) {
  const found = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (match) found.add(match[1]);
  }
  const parts = [...found].sort().map((name) => {
    const folder = join(HERE, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(join(folder, file), "utf8") : about.license;
    return `<h2>${escape(name)} ${escape(about.version)} (${escape(about.license)})</h2>\n<pre class="licence" tabindex="0">${escape(text)}</pre>\n`;
  });
  return `${head("Licences · Waypost", style, icon)}<body><main class="page prose"><p><a href="/">Back to Waypost</a></p>
<h1>Licences of what the dashboard is built from</h1>
${parts.join("")}</main>
`;
}

function escape(text) {
  return text.replace(/[&<>"]/g, (each) => `&#${each.codePointAt(0)};`);
}
