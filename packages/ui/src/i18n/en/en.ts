import { activity } from "./activity.ts";
import { affinity } from "./affinity.ts";
import { chat } from "./chat.ts";
import { common } from "./common.ts";
import { errors } from "./errors.ts";
import { faults } from "./faults.ts";
import { keys } from "./keys.ts";
import { outcomes } from "./outcomes.ts";
import { overview } from "./overview.ts";
import { provider } from "./provider.ts";
import { providers } from "./providers.ts";
import { sessions } from "./sessions.ts";
import { shell } from "./shell.ts";
import { signIn } from "./sign-in.ts";
import { tokens } from "./tokens.ts";
import { usage } from "./usage.ts";
import { webhooks } from "./webhooks.ts";

/** Every text of the pages. What its messages are called and which values they take is typed from here. */
export const en = {
  activity,
  affinity,
  chat,
  common,
  errors,
  faults,
  keys,
  outcomes,
  overview,
  provider,
  providers,
  sessions,
  shell,
  signIn,
  tokens,
  usage,
  webhooks,
} as const;
