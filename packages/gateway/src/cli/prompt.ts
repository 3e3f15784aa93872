import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { failed, wrongWords } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

/** Longer than any list of keys a person pipes in. */
const maxInputBytes = 16 * 1024 * 1024;

/** Everything that is piped in. */
export async function readInput(terminal: Terminal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of terminal.stdin as AsyncIterable<Buffer | string>) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxInputBytes) throw failed("More than 16 MB came on the standard input.");
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Asks for a value without showing what is typed. */
export async function askHidden(terminal: Terminal, question: string): Promise<string> {
  terminal.err(question);
  // In terminal mode readline itself turns the echo off and prints what is typed to its output: to nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await ask(terminal, "", nowhere);
  terminal.err("\n");
  return answer;
}

/** @throws CommandError (2) where nobody can be asked */
export async function confirm(terminal: Terminal, sentence: string): Promise<boolean> {
  if (!terminal.canAsk) throw wrongWords(`${sentence}\nNobody can be asked here; say --yes if you mean it.`);
  const answer = await ask(terminal, `${sentence} Go on? [y/N] `, new Writable({ write: passTo(terminal) }));
  return /^y(es)?$/i.test(answer.trim());
}

async function ask(terminal: Terminal, question: string, output: Writable): Promise<string> {
  const lines = createInterface({ input: terminal.stdin, output, terminal: true, historySize: 0 });
  const interruption = new AbortController();
  lines.once("SIGINT", () => interruption.abort());
  lines.once("close", () => interruption.abort());
  try {
    return await lines.question(question, { signal: interruption.signal });
  } catch (error) {
    throw failed("Nothing was done.", error);
  } finally {
    lines.close();
  }
}

function passTo(terminal: Terminal): (chunk: Buffer | string, encoding: BufferEncoding, done: () => void) => void {
  return (chunk, _encoding, done) => {
    terminal.err(String(chunk));
    done();
  };
}
