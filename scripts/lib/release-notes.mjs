/**
 * What the changelog says of a version.
 *
 * @param {string} tag such as `v0.1.0`
 * @param {object} sources
 * @param {string} sources.changelog
 * @param {{ version: string, devDependencies?: Readonly<Record<string, string>> }} sources.gateway its package.json
 * @param {{ version: string }} sources.pool
 * @returns {string}
 * @throws with what does not agree
 */
export function releaseNotes(tag, { changelog, gateway, pool }) {
  const version = tag.replace(/^v/, "");
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Error(`Expected a tag such as v0.1.0, got "${tag}".`);
  const carried = {
    "keywheel's version": gateway.version,
    "@keywheel/pool's version": pool.version,
    "keywheel's dependency on @keywheel/pool": gateway.devDependencies?.["@keywheel/pool"],
  };
  for (const [name, value] of Object.entries(carried))
    if (value !== version) throw new Error(`Expected ${name} to be ${version}, as the tag says; it is ${value}.`);

  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`${version} `));
  if (section === undefined) throw new Error(`CHANGELOG.md has no entry "## ${version} - <date>".`);
  const [heading = "", ...lines] = section.split("\n");
  if (!/ - \d{4}-\d\d-\d\d$/.test(heading))
    throw new Error(`Give the entry of ${version} in CHANGELOG.md its date: "## ${version} - 2026-12-31".`);
  return lines.join("\n").trim();
}
