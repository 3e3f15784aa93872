import { afterEach, expect, it, vi } from "vitest";
import { followChanges } from "./follow-changes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A follower of a database in which `news` says whether others have changed something. */
function following({ news, everyMs }: { news: () => Promise<boolean>; everyMs: number }) {
  let announce = (): void => {};
  let loads = 0;
  const load = (): void => void (loads += 1);
  const catchUp = vi.fn<() => Promise<void>>(async () => load());
  const lookAtToken = vi.fn<() => Promise<void>>(async () => {});
  const told: string[] = [];
  const tell = (_fields: object, message: string): void => void told.push(message);
  const follower = followChanges({
    feed: {
      isOutdated: () => false,
      hasNews: news,
      loads: () => loads,
      distrust: () => {},
      listen: (onNews) => {
        announce = onNews;
        return { close: async () => {} };
      },
    },
    catalog: { catchUp },
    auth: { catchUp: lookAtToken },
    log: { warn: tell, info: tell },
    everyMs,
  });
  closing.push(() => follower.close());
  return { announce: () => announce(), catchUp, load, lookAtToken, told, close: () => follower.close() };
}

it("finds changes that nobody announced, by asking", async () => {
  let isNew = true;
  const { catchUp } = following({ news: async () => isNew, everyMs: 5 });

  await vi.waitFor(() => expect(catchUp).toHaveBeenCalled());
  isNew = false;
  await new Promise((resolve) => setTimeout(resolve, 20));
  const calls = catchUp.mock.calls.length;
  await new Promise((resolve) => setTimeout(resolve, 30));

  expect(catchUp.mock.calls.length).toBe(calls);
});

it("looks once more for what is announced while it looks", async () => {
  const looks: (() => void)[] = [];
  const news = (): Promise<boolean> => new Promise((resolve) => looks.push(() => resolve(true)));
  const { announce, catchUp } = following({ news, everyMs: 60_000 });

  announce();
  announce();
  announce();
  looks[0]?.();
  await vi.waitFor(() => expect(looks).toHaveLength(2));
  looks[1]?.();

  await vi.waitFor(() => expect(catchUp).toHaveBeenCalledTimes(2));
});

it("looks at the admin token too when a change of this gateway's own has loaded what others changed", async () => {
  const { load, lookAtToken } = following({ news: async () => false, everyMs: 5 });
  await vi.waitFor(() => expect(lookAtToken).toHaveBeenCalledTimes(1));

  load();

  await vi.waitFor(() => expect(lookAtToken).toHaveBeenCalledTimes(2));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(lookAtToken).toHaveBeenCalledTimes(2);
});

it("says once that it cannot look, and once that it can again", async () => {
  let isAway = true;
  const news = async (): Promise<boolean> => {
    if (isAway) throw new Error("away");
    return false;
  };
  const { told } = following({ news, everyMs: 5 });

  await vi.waitFor(() => expect(told).toHaveLength(1));
  await new Promise((resolve) => setTimeout(resolve, 30));
  isAway = false;

  await vi.waitFor(() => expect(told).toHaveLength(2));
  expect(told).toEqual([expect.stringContaining("cannot be seen"), expect.stringContaining("seen again")]);
});

it("does nothing once it is closed", async () => {
  const { announce, catchUp, close } = following({ news: async () => true, everyMs: 60_000 });

  await close();
  announce();
  await new Promise(setImmediate);

  expect(catchUp).not.toHaveBeenCalled();
});
