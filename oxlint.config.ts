import { defineConfig, type OxlintOverride } from "oxlint";

/** What one room may import, besides its own files. Its tests may import anything. */
interface Room {
  /** Where it lives below `packages/`: a folder, or a single file. */
  readonly path: string;
  /** Packages and built-in modules, as gitignore patterns. */
  readonly packages?: readonly string[];
  /** Other rooms of the same package, by name. */
  readonly rooms?: readonly string[];
  /** Rooms of the same package of which only the types are used: their values are handed in. */
  readonly types?: readonly string[];
}

const node = ["node:*", "node:*/*"];
const schemas = ["zod", "@hono/zod-openapi"];

/**
 * The arrows of the design: rules ← ports ← pool ← adapters and planes ← cli. A room that needs more is a change of the
 * design, made here.
 */
export const rooms: readonly Room[] = [
  { path: "pool/src/rules" },
  { path: "pool/src/ports", types: ["rules"] },
  { path: "pool/src/providers", rooms: ["rules", "errors.ts"], types: ["ports"] },
  { path: "pool/src/key-status.ts", rooms: ["rules"], types: ["ports"] },
  { path: "pool/src/memory", rooms: ["rules", "ports", "errors.ts"] },
  { path: "pool/src/errors.ts", types: ["rules", "gateway-errors.ts"] },
  { path: "pool/src/gateway-errors.ts", rooms: ["errors.ts"] },
  { path: "pool/src/pool.ts", rooms: ["rules", "ports", "providers", "errors.ts"] },
  { path: "pool/src/dispatch.ts", rooms: ["rules", "ports", "providers", "errors.ts", "pool.ts"] },
  { path: "pool/src/transport", rooms: ["rules", "providers"], types: ["ports", "dispatch.ts"] },
  {
    path: "pool/src/library",
    rooms: [
      "rules",
      "ports",
      "providers",
      "memory",
      "errors.ts",
      "gateway-errors.ts",
      "key-status.ts",
      "pool.ts",
      "dispatch.ts",
      "transport",
    ],
  },

  { path: "gateway/src/contract", packages: ["@keywheel/pool", ...schemas] },
  { path: "gateway/src/requests", types: ["store"] },
  {
    path: "gateway/src/store",
    packages: [...node, "@keywheel/pool", "kysely", "kysely/**", "pg"],
    rooms: ["requests"],
    types: ["contract"],
  },
  { path: "gateway/src/state", packages: [...node, "@keywheel/pool", "ioredis"] },
  { path: "gateway/src/catalog", packages: [...node, "@keywheel/pool"], types: ["contract", "store"] },
  {
    path: "gateway/src/data-plane",
    packages: [...node, "@keywheel/pool", "undici"],
    types: ["contract", "store", "catalog", "telemetry"],
  },
  {
    path: "gateway/src/activity",
    packages: ["@keywheel/pool"],
    rooms: ["requests"],
    types: ["store", "catalog", "data-plane", "telemetry"],
  },
  {
    path: "gateway/src/webhooks",
    packages: [...node, "@keywheel/pool"],
    types: ["contract", "store", "catalog", "activity"],
  },
  {
    path: "gateway/src/control-plane",
    packages: [...node, "@keywheel/pool", "hono", "hono/**", "@hono/node-server", "@hono/node-server/**", ...schemas],
    rooms: ["contract"],
    types: ["store", "catalog", "telemetry", "activity"],
  },
  { path: "gateway/src/telemetry", packages: [...node, "@keywheel/pool", "pino", "prom-client", "@opentelemetry/*"] },
  {
    path: "gateway/src/cli",
    packages: ["**"],
    rooms: [
      "contract",
      "requests",
      "store",
      "state",
      "catalog",
      "data-plane",
      "activity",
      "webhooks",
      "control-plane",
      "telemetry",
    ],
  },

  {
    // HTTP and the types of the contract, made from its document; never the pool.
    path: "ui/src",
    packages: [
      "@dnd-kit/*",
      "@mantine/*",
      "@mantine/*/styles.css",
      "@tabler/icons-react",
      "@tanstack/*",
      "get-nonce",
      "i18next",
      "react",
      "react-dom/client",
      "react-markdown",
      "remark-gfm",
      "idb",
      "eventsource-parser",
      "react-i18next",
      "react-router",
      "react-router/dom",
    ],
  },

  {
    path: "testkit/src",
    packages: ["pg", ...node, "@keywheel/pool", "keywheel", "keywheel/contract", "vitest", "fast-check"],
  },
];

const tests = ["**/*.test.ts", "**/*.test.tsx", "**/*.test-d.ts", "**/*.test-bench.ts", "test/**"];

const untyped = {
  "typescript/no-unsafe-argument": "off",
  "typescript/no-unsafe-assignment": "off",
  "typescript/no-unsafe-call": "off",
  "typescript/no-unsafe-member-access": "off",
  "typescript/no-unsafe-return": "off",
} as const;

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise", "node", "vitest"],
  options: { typeAware: true },
  ignorePatterns: ["dist", "coverage", "bench/.peers", "docs/site/.test-*"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/await-thenable": "error",
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/no-explicit-any": "error",
    "typescript/no-unsafe-argument": "error",
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-call": "error",
    "typescript/no-unsafe-member-access": "error",
    "typescript/no-unsafe-return": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/switch-exhaustiveness-check": "error",
    "typescript/only-throw-error": "error",
    "typescript/prefer-promise-reject-errors": "error",
    "typescript/use-unknown-in-catch-callback-variable": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-import-type-side-effects": "error",
    "typescript/no-namespace": "error",
    "typescript/no-deprecated": "error",
    "eslint/eqeqeq": "error",
    "eslint/no-console": "error",
    "eslint/no-empty": "error",
    "eslint/no-var": "error",
    "eslint/prefer-const": "error",
    "oxc/no-const-enum": "error",
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "import/no-duplicates": "error",
    "import/no-unassigned-import": ["error", { allow: ["**/*.css"] }],
    "unicorn/prefer-node-protocol": "error",
    "vitest/expect-expect": ["error", { assertFunctionNames: ["expect", "expect*", "expectTypeOf", "fc.assert"] }],
    "vitest/no-focused-tests": "error",

    // A cast is where unknown data is given its type after it was looked at; `any` is what the rules above catch.
    "typescript/no-unsafe-type-assertion": "off",
    // A closure beside its one user reads better than a function at the far end of the file.
    "unicorn/consistent-function-scoping": "off",
    // `KeyRecord` the type and `key` the parameter: names of the domain come back in inner scopes.
    "eslint/no-shadow": "off",
    // Sorting a fresh copy in place is the usual case, and toSorted copies once more.
    "unicorn/no-array-sort": "off",
    "unicorn/no-array-reverse": "off",
    // Event emitters and sockets of Node are no event targets.
    "unicorn/prefer-add-event-listener": "off",
    "promise/always-return": "off",
    // An exhaustive switch over a union needs no return behind it; the compiler (`noImplicitReturns`) knows.
    "typescript/consistent-return": "off",
    // The documented way to use fast-check is its default export.
    "import/no-named-as-default-member": "off",
    // `export {}` says that a file is a module of which nothing is exported yet.
    "unicorn/require-module-specifiers": "off",
    // A trailing underscore tells a name from a reserved word.
    "eslint/no-underscore-dangle": "off",
  },
  overrides: [
    ...rooms.map(arrowsOf),
    {
      files: ["rules/**", "ports/**", "providers/**", "pool.ts", "dispatch.ts"].map(
        (path) => `packages/pool/src/${path}`,
      ),
      rules: {
        "eslint/no-restricted-properties": [
          "error",
          { object: "Date", property: "now", message: "Time is an argument, or comes through the port `Clock`." },
          { object: "Math", property: "random", message: "Chance is an argument (`Random`)." },
        ],
      },
    },
    {
      files: tests,
      rules: {
        "eslint/no-restricted-imports": "off",
        "eslint/no-restricted-properties": "off",
        "typescript/no-non-null-assertion": "off",
        ...untyped,
      },
    },
    { files: ["scripts/**", "docs/site/**", "packages/gateway/src/cli/**"], rules: { "eslint/no-console": "off" } },
    { files: ["**/*.mjs"], rules: untyped },
    { files: ["**/*.config.ts", "docs/site/.vitepress/**"], rules: { "import/no-default-export": "off" } },
  ],
});

function arrowsOf(room: Room): OxlintOverride {
  const [packageFolder = ""] = room.path.split("/");
  const siblings = rooms.filter((other) => other !== room && other.path.startsWith(`${packageFolder}/`)).map(nameOf);
  const values = room.rooms ?? [];
  const types = room.types ?? [];
  const closed = siblings.filter((name) => !values.includes(name) && !types.includes(name));
  const message = `${room.path} may not import this; what it may is listed in oxlint.config.ts.`;

  const patterns = [
    { regex: upwardsTo([...closed, "index.ts"]), message },
    ...(types.length > 0
      ? [{ regex: upwardsTo(types), allowTypeImports: true, message: `Types only. ${message}` }]
      : []),
    // Last: oxlint asks no further patterns about an import that this one lets pass.
    { group: ["**", "!./**", "!../**", ...(room.packages ?? []).map((name) => `!${name}`)], message },
  ];
  const path = `packages/${room.path}`;
  return {
    files: [path.endsWith(".ts") ? path : `${path}/**`],
    rules: { "eslint/no-restricted-imports": ["error", { patterns }] },
  };
}

function nameOf(room: Room): string {
  return room.path.split("/src/")[1] ?? room.path;
}

/** Relative specifiers that climb out of a folder, or stay beside a file, and arrive at one of the rooms. */
function upwardsTo(names: readonly string[]): string {
  return `^(?:\\./|(?:\\.\\./)+)(?:${names.map((name) => name.replaceAll(".", "\\.")).join("|")})(?:/|$)`;
}
