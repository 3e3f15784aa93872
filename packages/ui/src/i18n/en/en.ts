import { chat } from "./chat.ts";
import { common } from "./common.ts";
import { errors } from "./errors.ts";
import { keys } from "./keys.ts";
import { provider } from "./provider.ts";
import { providers } from "./providers.ts";
import { shell } from "./shell.ts";
import { signIn } from "./sign-in.ts";
import { tokens } from "./tokens.ts";

/** Every text of the pages. What its messages are called and which values they take is typed from here. */
export const en = { chat, common, errors, keys, provider, providers, shell, signIn, tokens } as const;
