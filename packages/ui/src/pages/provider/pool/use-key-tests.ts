import { useEffect, useRef, useState } from "react";
import { call } from "../../../api/client.ts";
import type { Key, KeyBulk } from "../../../api/openapi.ts";
import type { KeyTest } from "./key-test.tsx";

/** So many keys are asked for with one call: a step of the progress, and no more is lost by a cancel. */
const keysPerCall = 16;

/** A test of many keys: under way, ended, or given up in the middle. */
export interface TestRun {
  readonly state: "running" | "ended" | "cancelled" | "failed";
  readonly total: number;
  readonly passed: number;
  /** Those that did not pass, in the order in which they were tried. */
  readonly refused: readonly string[];
  /** Why it could not go on. */
  readonly error?: unknown;
}

export interface KeyTests {
  readonly tests: ReadonlyMap<string, KeyTest>;
  readonly run: TestRun | undefined;
  readonly test: (key: Key) => void;
  readonly dismiss: (key: Key) => void;
  readonly testMany: (ids: readonly string[]) => void;
  readonly cancel: () => void;
  /** Puts the outcome of a run away, with what it says beside the keys. */
  readonly dismissRun: () => void;
}

/** Tests of keys, and what came of them. They end with the page. */
export function useKeyTests(providerId: string): KeyTests {
  const [tests, setTests] = useState<ReadonlyMap<string, KeyTest>>(new Map());
  const [run, setRun] = useState<TestRun>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const note = (entries: Iterable<readonly [string, KeyTest]>): void =>
    setTests((before) => new Map([...before, ...entries]));
  const forget = (ids: ReadonlySet<string>): void =>
    setTests((before) => new Map([...before].filter(([id]) => !ids.has(id))));

  const test = ({ id }: Key): void => {
    note([[id, { kind: "running" }]]);
    call("POST /api/keys/{id}/test", { params: { id } }).then(
      (result) => note([[id, { kind: "answered", result }]]),
      (error: unknown) => note([[id, { kind: "failed", error }]]),
    );
  };

  const testMany = async (ids: readonly string[]): Promise<void> => {
    abort.current?.abort();
    const { signal } = (abort.current = new AbortController());
    let now: TestRun = { state: "running", total: ids.length, passed: 0, refused: [] };
    const tell = (next: Partial<TestRun>): void => setRun((now = { ...now, ...next }));
    tell({});
    for (let at = 0; at < ids.length && !signal.aborted; at += keysPerCall) {
      const part = ids.slice(at, at + keysPerCall);
      note(part.map((id) => [id, { kind: "running" }]));
      try {
        const params = { id: providerId };
        const body: KeyBulk = { action: "test", ids: [...part] };
        const { results = [] } = await call("POST /api/providers/{id}/keys/bulk", { params, body, signal });
        note(results.map(({ id, ...result }) => [id, { kind: "answered", result }]));
        const refused = results.filter(({ ok }) => !ok).map(({ id }) => id);
        tell({ passed: now.passed + results.length - refused.length, refused: [...now.refused, ...refused] });
      } catch (error) {
        forget(new Set(part));
        if (signal.aborted) break;
        return tell({ state: "failed", error });
      }
    }
    // Another run may have begun, which tells of itself.
    if (abort.current.signal === signal) tell({ state: signal.aborted ? "cancelled" : "ended" });
  };

  return {
    tests,
    run,
    test,
    dismiss: ({ id }) => forget(new Set([id])),
    testMany: (ids) => void testMany(ids),
    cancel: () => abort.current?.abort(),
    dismissRun: () => {
      setRun(undefined);
      setTests(new Map());
    },
  };
}
