import { connect, type Socket } from "node:net";

/** Bytes as they go over a connection, and what is done with it then. Texts are latin1: one character is one byte. */
export interface RawMessage {
  readonly pieces: readonly string[];
  /** `wait` leaves the connection open for the other side to say something, `hang` for good. */
  readonly end: "fin" | "rst" | "wait" | "hang";
}

/** How long a side that has nothing more to say waits for the other, ms. */
const patienceMs = 60;
const longestKept = 65_536;

/** Writes piece by piece, each as a packet of its own where the system lets it. */
export async function writePieces(socket: Socket, { pieces, end }: RawMessage): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(piece, "latin1");
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (end === "fin") socket.end();
  else if (end === "rst") socket.resetAndDestroy();
}

/**
 * Says it on a connection of its own, and hears the beginning of what comes back.
 *
 * @param patience how long to wait once everything was said; default 60 ms from the last byte heard
 * @returns what was heard, and whether the other side ended it
 */
export function converse(
  port: number,
  message: RawMessage,
  patience: number = patienceMs,
): Promise<{ readonly heard: string; readonly isEnded: boolean }> {
  return new Promise((resolve) => {
    let heard = "";
    let isEnded = false;
    let timer: NodeJS.Timeout | undefined;
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const waitOn = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), patience);
    };
    socket.on("data", (chunk) => {
      if (heard.length < longestKept) heard += chunk.toString("latin1");
      if (timer !== undefined) waitOn();
    });
    socket.on("end", () => (isEnded = true));
    socket.on("error", () => (isEnded = true));
    socket.on("close", () => {
      clearTimeout(timer);
      resolve({ heard, isEnded });
    });
    socket.on("connect", () => void writePieces(socket, message).then(waitOn));
  });
}
