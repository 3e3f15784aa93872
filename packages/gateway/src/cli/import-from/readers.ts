import { readCherryStudio } from "./cherry-studio.ts";
import { readCliProxyApi } from "./cli-proxy-api.ts";
import type { Reader } from "./foreign.ts";
import { readGptLoad } from "./gpt-load.ts";
import { readLiteLlm } from "./litellm.ts";
import { readOmnicross } from "./omnicross.ts";
import { readNewApi, readOneApi } from "./one-api.ts";
import type { ForeignTool } from "./tools.ts";

export const readers: Readonly<Record<ForeignTool, Reader>> = {
  "gpt-load": readGptLoad,
  "new-api": readNewApi,
  "one-api": readOneApi,
  litellm: readLiteLlm,
  cliproxyapi: readCliProxyApi,
  omnicross: readOmnicross,
  "cherry-studio": readCherryStudio,
};
