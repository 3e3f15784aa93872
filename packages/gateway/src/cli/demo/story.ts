/** What a step of the demo may do. */
export interface Stage {
  readonly begin: (chats: readonly string[]) => void;
  /** Requests that belong to no chat, from here on. */
  readonly beginSingles: () => void;
  /** The provider answers 429 to a key for so long. */
  readonly limit: (person: string, ms: number) => void;
  /** The provider answers 401 to a key. */
  readonly refuse: (person: string) => void;
  /** The provider takes a key again, and it is enabled as a person would do it. */
  readonly enable: (person: string) => Promise<void>;
  /** How many requests were answered so far, as a sentence. */
  readonly count: () => string;
}

export interface Step {
  /** When, as a part of the whole: 0 to 1. */
  readonly at: number;
  readonly say: (stage: Stage) => string;
  readonly act?: (stage: Stage) => void | Promise<void>;
}

export const people = ["Ada", "Ben", "Cleo", "Dora"] as const;

/** The demo, told once. @param lengthMs from its beginning to its end */
export function storyOf(lengthMs: number, round: number): readonly Step[] {
  const named = (name: string): string => (round === 1 ? name : `${name}-${round}`);
  const restMs = lengthMs * 0.2;
  const first: Step =
    round === 1
      ? {
          at: 0,
          say: () =>
            "Six chats begin. Each takes its turn on the wheel, where Ada's key has two of five, and stays with its key.",
          act: (stage) => stage.begin(["essay", "recipe", "quiz", "letter", "review", "poem"]),
        }
      : { at: 0, say: () => "Once more from the beginning." };
  return [
    first,
    {
      at: 0.07,
      say: () => "Dora's key is slow: Activity shows how long its answers take. Being slow is no failure.",
      // Not before: the chats have the first turns, so that each key has one of them.
      act: (stage) => (round === 1 ? stage.beginSingles() : undefined),
    },
    {
      at: 0.15,
      say: () => "Ben's key reaches its limit: the provider will answer it with 429.",
      act: (stage) => stage.limit("Ben", restMs),
    },
    {
      at: 0.42,
      say: () => "Two more chats begin, now that Ben's key is back.",
      act: (stage) => stage.begin([named("story"), named("plan")]),
    },
    {
      at: 0.52,
      say: () => "Cleo's key is revoked: the provider will answer it with 401.",
      act: (stage) => stage.refuse("Cleo"),
    },
    {
      at: 0.75,
      say: () =>
        'Cleo\'s key is good again. It waits for somebody to press "Enable again" in the pool; the demo does so.',
      act: (stage) => stage.enable("Cleo"),
    },
    { at: 0.92, say: (stage) => `So far: ${stage.count()}` },
  ];
}
