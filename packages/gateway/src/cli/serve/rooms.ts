import { admit, type DoorPolicy, judgeVisitor, refusalBody } from "../../control-plane/doors.ts";
import type { StartOptions } from "../start-options.ts";
import { answerRaw } from "./raw-answers.ts";
import type { Rooms } from "./server.ts";

/** Rooms behind doors that let nobody in who comes under a wrong name, or from a page of somebody else's. */
export function roomsBehindDoors(
  { host, allowHost, allowOrigin }: Pick<StartOptions, "host" | "allowHost" | "allowOrigin">,
  rooms: Pick<Rooms, "control" | "data" | "upgrade">,
): Rooms {
  const policy: DoorPolicy = { boundHost: host, allowHosts: allowHost, allowOrigins: allowOrigin };
  return {
    ...rooms,
    admits: (request, response) => admit(request, response, policy),
    admitsUpgrade: ({ method = "GET", url = "/", headers, socket: { localAddress } }, socket) => {
      const verdict = judgeVisitor({ method, url, headers, localAddress }, policy);
      if (verdict.kind !== "refuse") return true;
      const { status, text: body } = refusalBody(verdict);
      answerRaw(socket, { status, code: verdict.code, contentType: "application/problem+json", body });
      return false;
    },
  };
}
