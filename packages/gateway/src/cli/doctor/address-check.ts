import { once } from "node:events";
import { createServer } from "node:net";
import { checkBind, isLoopback } from "../../control-plane/doors.ts";
import { reasonOf } from "../../store/private-files.ts";
import { type Check, fail, ok } from "./check.ts";

export interface AddressQuestion {
  readonly host: string;
  readonly port: number;
  readonly requireToken: boolean;
  readonly tokens: number;
  readonly hasAdminToken: boolean;
}

/** Whether a start would open its doors at this address, and could. @see contract §5 */
export async function checkAddress(question: AddressQuestion): Promise<Check> {
  const { host, port, requireToken, tokens, hasAdminToken } = question;
  const requiresToken = requireToken || (!isLoopback(host) && tokens > 0);
  const problem = checkBind({ host, requiresToken, hasAdminToken });
  if (problem !== undefined) return fail("address", problem, "It will not start like this.");
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    return ok("address", `${address} is free${requiresToken ? "; clients must show a token" : ""}.`);
  } catch (error) {
    const advice = "End what listens there, or choose another --host or --port.";
    return fail("address", `${address} cannot be listened on: ${reasonOf(error)}.`, advice);
  } finally {
    server.close();
  }
}
