import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { rolldown } from "rolldown";
import { programEntries, root } from "./lib/root.mjs";

const gateway = join(root, "packages", "gateway");
const parts = join(gateway, "dist", "parts");
const list = join(gateway, "dist", ".parts.json");
/** A gateway that runs from here loads some of its parts only when they are asked for, and a build must not take them away. */
const keptDays = 30;

await bundleProgram();

/**
 * Makes the gateway's program from its sources: a few files that hold what it needs of its dependencies as well, since
 * finding and reading a thousand small ones takes longer than everything else at a start. What the package names as a
 * dependency stays outside.
 *
 * @throws where the sources cannot be read or name what is not there
 */
async function bundleProgram() {
  const { dependencies = {} } = JSON.parse(readFileSync(join(gateway, "package.json"), "utf8"));
  const external = Object.keys(dependencies);
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(programEntries.map((entry) => [entry, join(gateway, "src", `${entry}.ts`)])),
    platform: "node",
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
    // Modules before what stands in for them: a package's older form may ask for its parts by a `require` that is handed to it, which
    // no bundler sees.
    resolve: { conditionNames: ["source", "node"], mainFields: ["module", "main"] },
    onLog: (level, log) => {
      throw new Error(`${level}: ${log.message}`);
    },
  });
  try {
    const replaced = listedParts();
    const { output } = await bundle.write({
      dir: join(gateway, "dist"),
      format: "esm",
      chunkFileNames: "parts/[name]-[hash].js",
      comments: false,
    });
    for (const chunk of output) {
      const [asked] = (chunk.type === "chunk" && /\brequire\(["']\.{1,2}\/[^)]*\)/.exec(chunk.code)) || [];
      if (asked !== undefined) throw new Error(`${chunk.fileName} holds ${asked}, which is not there when it runs.`);
    }
    const modules = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
    writeFileSync(join(gateway, "dist", "third-party-licenses.txt"), licensesOf(modules));
    const current = output.map(({ fileName }) => basename(fileName));
    // Their time begins when they are replaced, not when they were built.
    for (const name of replaced)
      if (existsSync(join(parts, name))) utimesSync(join(parts, name), new Date(), new Date());
    writeFileSync(list, JSON.stringify(current));
    removeOld(new Set(current));
  } finally {
    await bundle.close();
  }
}

/** The parts of the build that is there. */
function listedParts() {
  return existsSync(list) ? /** @type {string[]} */ (JSON.parse(readFileSync(list, "utf8"))) : [];
}

/**
 * Their licences ask for it: whoever passes their code on passes their words on.
 *
 * @param {readonly string[]} modules absolute paths
 */
function licensesOf(modules) {
  const folders = new Set(modules.filter((path) => path.includes(`${sep}node_modules${sep}`)).map(packageFolderOf));
  const told = [...folders].map(licenseOf).sort();
  return `The program holds code of these packages.\n\n${told.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** @param {string} path */
function packageFolderOf(path) {
  let folder = dirname(path);
  // Packages put a package.json without a name into folders of their own, to tell what kind of modules lie there.
  while (!existsSync(join(folder, "package.json")) || manifestOf(folder).name === undefined) folder = dirname(folder);
  return folder;
}

/** @param {string} folder */
function licenseOf(folder) {
  const { name, version, license } = manifestOf(folder);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)(\.|-|$)/i.test(file));
  const words = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (words.length === 0 && typeof license !== "string") throw new Error(`${name} comes without a licence.`);
  return [`${name} ${version} (${license ?? "see below"})`, ...words].join("\n\n").concat("\n");
}

/** @param {string} folder @returns {{ name?: string, version?: string, license?: string }} */
function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** @param {ReadonlySet<string>} current names in the folder of the parts */
function removeOld(current) {
  const before = Date.now() - keptDays * 24 * 60 * 60 * 1000;
  for (const name of readdirSync(parts)) {
    const file = join(parts, name);
    if (!current.has(name) && statSync(file).mtimeMs < before) rmSync(file);
  }
}
