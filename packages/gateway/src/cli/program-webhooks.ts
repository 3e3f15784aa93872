import type { Command } from "commander";
import type { RotateFlags, WebhookFlags } from "./commands/webhook.ts";
import { type Actions, example, managing, repeatable } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

type Given = Flags & WebhookFlags;

export function addWebhookCommands(program: Command, actions: Actions): void {
  const webhook = program.command("webhook").description("have other programs told what happens to keys and pools");
  const add = withFields(
    managing(webhook.command("add <url>").description("send events there; the secret that signs them is shown once")),
  ).action((url: string, flags: Given) =>
    actions.manage(flags, async (context) => (await import("./commands/webhook.ts")).addWebhook(context, url, flags), {
      creates: true,
    }),
  );
  example(add, [
    ["keywheel webhook add https://hooks.example.com/keywheel", "everything"],
    ["keywheel webhook add http://127.0.0.1:9000/ --event key.disabled --event pool.exhausted", "some events alone"],
  ]);
  managing(webhook.command("list").description("list the webhooks")).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/webhook.ts")).listWebhooks(context)),
  );
  withFields(managing(webhook.command("set <webhook>").description("change a webhook, by its id or name")))
    .option("--to <url>", "send to another URL")
    .option("--enabled", "switch it on")
    .option("--disabled", "switch it off")
    .action((name: string, { to, ...flags }: Given & { readonly to?: string }) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/webhook.ts")).setWebhook(context, name, {
          ...flags,
          ...(to === undefined ? {} : { to }),
        }),
      ),
    );
  const test = managing(webhook.command("test <webhook>").description("send a test message there, at once")).action(
    (name: string, flags: Flags) =>
      actions.manage(flags, async (context) => (await import("./commands/webhook.ts")).testWebhook(context, name)),
  );
  example(test, [["keywheel webhook test pager", "exit code 1 if it was not delivered"]]);
  const rotate = managing(
    webhook.command("rotate <webhook>").description("make its secret anew; the former one signs as well for a while"),
  )
    .option("--overlap <time>", "for so long, up to 7d; 0 ends every former secret at once (default: 24h)")
    .option("-y, --yes", "do not ask")
    .action((name: string, flags: Flags & RotateFlags) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/webhook.ts")).rotateWebhook(context, name, flags),
      ),
    );
  example(rotate, [
    ["keywheel webhook rotate pager", "then give the receiver the new secret, within a day"],
    ["keywheel webhook rotate pager --overlap 0", "after the secret may have been seen"],
  ]);
  managing(webhook.command("deliveries <webhook>").description("what was sent last, and what became of it")).action(
    (name: string, flags: Flags) =>
      actions.manage(flags, async (context) => (await import("./commands/webhook.ts")).listDeliveries(context, name)),
  );
  managing(webhook.command("remove <webhook>").description("remove a webhook, by its id or name"))
    .option("-y, --yes", "do not ask")
    .action((name: string, flags: Flags & { readonly yes?: boolean }) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/webhook.ts")).removeWebhook(context, name, flags),
      ),
    );
}

function withFields(command: Command): Command {
  return command
    .option("--name <text>", "what it is called")
    .addOption(
      repeatable(
        "--event <event>",
        "key.disabled, key.recovered, pool.exhausted or pool.recovered; may be repeated; all for every one (default: all)",
      ),
    );
}
