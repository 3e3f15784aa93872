// Keeps a database of the newest migration for the tests, before that is released: `npm run keep-schema`.
import { keepSchema } from "../packages/gateway/src/store/kept-schema.test-bench.ts";
import { say } from "./lib/say.mjs";

say(`Kept ${await keepSchema()}.`);
