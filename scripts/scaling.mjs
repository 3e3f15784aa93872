// The table of docs/scaling.md, from the figures in lib/scaling-model.mjs: `npm run scaling`.
import { assumed, measured, sharesOf, tableOfModel } from "./lib/scaling-model.mjs";

console.log(`${tableOfModel()}\n`);
console.log(JSON.stringify({ measured, assumed, "100 gateways, 10,000/s": sharesOf(100, 10_000) }, undefined, 2));
