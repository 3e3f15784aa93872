import type { Catalogue } from "../catalogue.ts";
import { chat } from "./chat.ts";
import { common } from "./common.ts";
import { errors } from "./errors.ts";
import { keys } from "./keys.ts";
import { provider } from "./provider.ts";
import { providers } from "./providers.ts";
import { shell } from "./shell.ts";
import { signIn } from "./sign-in.ts";
import { tokens } from "./tokens.ts";

export const ko: Catalogue = { chat, common, errors, keys, provider, providers, shell, signIn, tokens };
