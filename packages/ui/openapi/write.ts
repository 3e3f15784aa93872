import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { generatedFile, generateTypes } from "./generate.ts";

mkdirSync(dirname(generatedFile), { recursive: true });
writeFileSync(generatedFile, generateTypes());
