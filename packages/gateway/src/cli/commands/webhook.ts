import { failed, wrongWords } from "../exit.ts";
import { confirm } from "../prompt.ts";
import { formatTable } from "../table.ts";
import { type Context, enabledField, present, printJson, say, sayUndone, segment } from "./context.ts";
import type { Delivery, List, NewWebhook, Webhook, WebhookTest } from "./wire.ts";
import { readLength } from "./expiry.ts";
import { ago, dateTime } from "./words.ts";

/** A webhook in the words of the command line. */
export interface WebhookFlags {
  readonly name?: string;
  readonly event?: readonly string[];
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

export interface RotateFlags {
  readonly overlap?: string;
  readonly yes?: boolean;
}

export async function addWebhook(context: Context, url: string, flags: WebhookFlags): Promise<void> {
  const text = await context.client.text("POST", "/webhooks", { url, ...fieldsOf(flags) });
  if (context.json) return printJson(context, text);
  const { id, secret } = JSON.parse(text) as NewWebhook;
  // The secret alone on the standard output, so that it can be piped on; the words beside it.
  context.terminal.err(`Added the webhook ${id}. This secret is shown once; the receiver checks signatures with it.\n`);
  say(context, secret);
}

export async function listWebhooks(context: Context): Promise<void> {
  const text = await context.client.text("GET", "/webhooks");
  if (context.json) return printJson(context, text);
  const { data } = JSON.parse(text) as List<Webhook>;
  if (data.length === 0)
    return say(context, "There is no webhook yet. Add one: keywheel webhook add https://hooks.example.com/keywheel");
  const columns = [
    { heading: "Id", value: ({ id }: Webhook) => id },
    { heading: "Name", value: ({ name }: Webhook) => name },
    { heading: "URL", value: ({ url }: Webhook) => url },
    { heading: "Events", value: ({ events }: Webhook) => events?.join(", ") ?? "all" },
    { heading: "Status", value: statusOf },
  ];
  context.terminal.out(formatTable(columns, data, context.terminal.colors));
}

export async function setWebhook(
  context: Context,
  webhook: string,
  { to: url, ...flags }: WebhookFlags & { readonly to?: string },
): Promise<void> {
  const body = { ...present({ url }), ...fieldsOf(flags) };
  if (Object.keys(body).length === 0)
    throw wrongWords("Say what to set, such as --event or --disabled; --help lists all.");
  const { id } = await findWebhook(context, webhook);
  const text = await context.client.text("PATCH", `/webhooks/${segment(id)}`, body);
  if (context.json) return printJson(context, text);
  say(context, `Changed the webhook ${id}: ${statusOf(JSON.parse(text) as Webhook)}.`);
}

/** Makes its secret anew. @throws CommandError (2) if the overlap is no length of time */
export async function rotateWebhook(context: Context, webhook: string, flags: RotateFlags): Promise<void> {
  const { overlap = "24h" } = flags;
  const overlapMs = readLength(overlap);
  if (overlapMs === undefined || overlapMs > longestOverlapMs)
    throw wrongWords(
      `Expected \`--overlap\` to be a length of time up to 7d, such as 90m, 24h or 0, got "${overlap}".`,
    );
  const { id } = await findWebhook(context, webhook);
  const sentence = "The receiver refuses what is sent until it has the new secret: no former one signs any more.";
  if (overlapMs === 0 && !flags.yes && !(await confirm(context.terminal, sentence))) return sayUndone(context);
  const text = await context.client.text("POST", `/webhooks/${segment(id)}/rotate`, { overlap_ms: overlapMs });
  if (context.json) return printJson(context, text);
  const { secret, former_secret_until: until } = JSON.parse(text) as NewWebhook;
  const former =
    until === null
      ? "No former one signs any more: give it to the receiver now."
      : `The former one signs as well until ${dateTime(until)}: give the new one to the receiver before.`;
  context.terminal.err(`This is the new secret of the webhook ${id}. It is shown once. ${former}\n`);
  say(context, secret);
}

const longestOverlapMs = 7 * 86_400_000;

export async function removeWebhook(
  context: Context,
  webhook: string,
  flags: { readonly yes?: boolean },
): Promise<void> {
  const { id, url } = await findWebhook(context, webhook);
  const sentence = `${url} is told of nothing any more, and what waits to be sent there is lost.`;
  if (!flags.yes && !(await confirm(context.terminal, sentence))) return sayUndone(context);
  await context.client.call("DELETE", `/webhooks/${segment(id)}`);
  if (context.json) printJson(context, JSON.stringify({ id, removed: true }));
  else say(context, `Removed the webhook ${id}.`);
}

/** @throws CommandError (1) if it was not delivered */
export async function testWebhook(context: Context, webhook: string): Promise<void> {
  const { id } = await findWebhook(context, webhook);
  const text = await context.client.text("POST", `/webhooks/${segment(id)}/test`);
  if (context.json) printJson(context, text);
  const { delivered, http_status: status, message, duration_ms: ms } = JSON.parse(text) as WebhookTest;
  if (!delivered) throw failed(`The test was not delivered: ${message}`);
  if (!context.json) say(context, `Delivered in ${ms} ms: the receiver answered ${status}.`);
}

export async function listDeliveries(context: Context, webhook: string): Promise<void> {
  const { id } = await findWebhook(context, webhook);
  const text = await context.client.text("GET", `/webhooks/${segment(id)}/deliveries`);
  if (context.json) return printJson(context, text);
  const { data } = JSON.parse(text) as List<Delivery>;
  if (data.length === 0) return say(context, `Nothing was sent yet. Try it: keywheel webhook test ${id}`);
  const now = Date.now();
  const columns = [
    { heading: "Id", value: (delivery: Delivery) => delivery.id },
    { heading: "Event", value: ({ type }: Delivery) => type },
    { heading: "Happened", value: ({ created_at: at }: Delivery) => ago(at, now) },
    { heading: "State", value: ({ state }: Delivery) => state },
    { heading: "Attempts", value: ({ attempts }: Delivery) => String(attempts) },
    { heading: "Next", value: ({ next_attempt_at: at }: Delivery) => (at === null ? "" : dateTime(at)) },
    { heading: "Last error", value: ({ last_error: error }: Delivery) => error ?? "" },
  ];
  context.terminal.out(formatTable(columns, data, context.terminal.colors));
}

/** @throws CommandError (1) if there is none, or more than one */
async function findWebhook(context: Context, webhook: string): Promise<Webhook> {
  const { data } = await context.client.call<List<Webhook>>("GET", "/webhooks");
  const [found, ...others] = data.filter(({ id, name }) => id === webhook || (name !== "" && name === webhook));
  if (found === undefined)
    throw failed(`No webhook has the id or the name "${webhook}". \`keywheel webhook list\` shows them.`);
  if (others.length > 0) {
    const ids = [found, ...others].map(({ id }) => id).join(", ");
    throw failed(`Several webhooks have the name "${webhook}". Say which by its id: ${ids}.`);
  }
  return found;
}

function fieldsOf({ name, event, ...flags }: WebhookFlags): object {
  const isForAll = event?.length === 1 && event[0] === "all";
  return { ...present({ name, events: isForAll ? null : event }), ...enabledField(flags) };
}

function statusOf({ enabled, disabled_reason: reason }: Webhook): string {
  if (enabled) return "enabled";
  return reason === "gone" ? "disabled: its receiver answered 410 (gone)" : "disabled";
}
