import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { RecordedRequest } from "./recorded-request.ts";

/** Answers an upgrade and sends back whatever comes, frame by frame, until either side closes. */
export function acceptWebSocket(request: RecordedRequest, socket: Socket): void {
  const offered = (request.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
  const chosen = offered.find((name) => name === "realtime") ?? offered[0];
  const accept = createHash("sha1")
    // RFC 6455 §1.3
    .update(`${request.header("sec-websocket-key")}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  const protocol = chosen === undefined || chosen === "" ? "" : `sec-websocket-protocol: ${chosen}\r\n`;
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n${protocol}\r\n`,
  );

  let pending = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    for (let frame = readFrame(pending); frame !== undefined; frame = readFrame(pending)) {
      pending = pending.subarray(frame.bytes);
      socket.write(writeFrame(frame.opcode, frame.payload));
      if (frame.opcode === closing) socket.end();
    }
  });
}

const closing = 8;

/** RFC 6455 §5.2, whole frames below 64 KiB only: what tests send. */
function readFrame(from: Buffer): { opcode: number; payload: Buffer; bytes: number } | undefined {
  if (from.length < 2) return undefined;
  const [first = 0, second = 0] = from;
  const short = second & 127;
  if (short === 127) throw new Error("the scripted provider reads frames below 64 KiB");
  const lengthBytes = short === 126 ? 2 : 0;
  if (from.length < 2 + lengthBytes) return undefined;
  const length = short === 126 ? from.readUInt16BE(2) : short;
  const maskAt = 2 + lengthBytes;
  const masked = (second & 128) !== 0;
  const payloadAt = maskAt + (masked ? 4 : 0);
  if (from.length < payloadAt + length) return undefined;
  const payload = Buffer.from(from.subarray(payloadAt, payloadAt + length));
  if (masked) for (let at = 0; at < length; at++) payload[at] = (payload[at] ?? 0) ^ (from[maskAt + (at % 4)] ?? 0);
  return { opcode: first & 15, payload, bytes: payloadAt + length };
}

function writeFrame(opcode: number, payload: Buffer): Buffer {
  const head = payload.length < 126 ? Buffer.from([128 | opcode, payload.length]) : Buffer.alloc(4);
  if (payload.length >= 126) {
    head[0] = 128 | opcode;
    head[1] = 126;
    head.writeUInt16BE(payload.length, 2);
  }
  return Buffer.concat([head, payload]);
}
