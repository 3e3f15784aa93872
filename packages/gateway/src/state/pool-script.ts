import { blame } from "./script/blame.ts";
import { bindings } from "./script/bindings.ts";
import { changes } from "./script/changes.ts";
import { ground } from "./script/ground.ts";
import { wheel } from "./script/wheel.ts";

/**
 * The rules of a pool inside Redis: one script, so that each decision is atomic. The first argument names the decision.
 *
 * These rules live a second time in `@keywheel/pool` (`rules/`, `memory/`); the shared suite and the conformance table of
 * the test kit are run against both.
 */
export const poolScript: string = [ground, wheel, bindings, blame, changes].join("\n");

/** Keys of every call; after them come those of bindings. */
export const fixedKeys = ["pool", "keys", "cells", "usable", "order", "due", "owners", "lanes"] as const;
