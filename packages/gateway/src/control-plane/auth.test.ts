import { createFakeClock } from "@keywheel/testkit";
import { Secret } from "@keywheel/pool";
import { describe, expect, it, vi } from "vitest";
import { AdminAuth, type AdminAuthOptions, problemOfAdminToken } from "./auth.ts";
import { sessionIdleMs, sessionLifeMs } from "./browser-sessions.ts";

const token = "an-admin-token-of-24-chars";

function aStore(meta: Map<string, string> = new Map()) {
  return {
    meta,
    getMeta: async (name: string) => meta.get(name),
    setMeta: async (name: string, value: string | undefined) =>
      void (value === undefined ? meta.delete(name) : meta.set(name, value)),
    setMetaOnce: async (name: string, value: string) => {
      if (!meta.has(name)) meta.set(name, value);
      return meta.get(name) ?? value;
    },
  };
}

async function open(parts: Partial<AdminAuthOptions> = {}) {
  const clock = createFakeClock();
  const store = aStore();
  const { auth, madeToken } = await AdminAuth.open({ store, clock, makeToken: true, ...parts });
  return { auth, madeToken, clock, store };
}

function check(auth: AdminAuth, text: string, peer = "10.0.0.1"): string {
  try {
    auth.check(text, peer);
    return "right";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("the admin token", () => {
  it("of a gateway that was first on the same database is taken for its own", async () => {
    const { store } = await open();
    const first = store.meta.get("admin_token_sha256");

    // Between its look and its writing, the other one has made one.
    const late = await open({ store: { ...store, getMeta: async () => undefined } });

    expect(late.madeToken).toBeUndefined();
    expect(store.meta.get("admin_token_sha256")).toBe(first);
  });

  it("is one for gateways on the same database, the cookies and who is signed in are each one's own", async () => {
    const { auth, store, clock } = await open({ gateway: "one" });
    const { auth: other } = await open({ store, clock, gateway: "other" });
    const cookie = auth.browsers.create();
    other.browsers.create();
    await new Promise(setImmediate);

    const { auth: restarted } = await open({ store, clock, gateway: "one" });

    expect(other.browsers.cookieName).not.toBe(auth.browsers.cookieName);
    expect([other.browsers.isValid(cookie), restarted.browsers.isValid(cookie)]).toEqual([false, true]);
    expect(restarted.browsers.cookieName).toBe(auth.browsers.cookieName);
  });

  it("that another gateway makes anew takes the place of the old one here as well", async () => {
    const { auth, madeToken, store } = await open();
    const { auth: other } = await open({ store });
    const cookie = other.browsers.create();

    const rotated = await auth.rotate();
    await other.catchUp();

    expect([check(other, rotated.reveal()), check(other, madeToken?.reveal() ?? "")]).toEqual([
      "right",
      "unauthorized",
    ]);
    expect(other.browsers.isValid(cookie)).toBe(false);
  });

  it("is made at the first start, shown once, and stored as a hash", async () => {
    const first = await open();
    const text = first.madeToken?.reveal() ?? "";

    const second = await open({ store: first.store });

    expect(text).toMatch(/^kwa_[a-z2-7]{32}$/);
    expect(second.madeToken).toBeUndefined();
    expect([check(second.auth, text), check(second.auth, `${text}x`), check(second.auth, "")]).toEqual([
      "right",
      "unauthorized",
      "unauthorized",
    ]);
    expect([...first.store.meta.values()].join()).not.toContain(text.slice(4, 12));
  });

  it("from the environment stands alone, is not stored, and gives way when it is gone", async () => {
    const first = await open();
    const made = first.madeToken?.reveal() ?? "";

    const withOwn = await open({ store: first.store, environmentToken: token });
    const without = await open({ store: first.store });

    expect([check(withOwn.auth, token), check(withOwn.auth, made)]).toEqual(["right", "unauthorized"]);
    expect([check(without.auth, token), check(without.auth, made)]).toEqual(["unauthorized", "right"]);
    expect(JSON.stringify([...first.store.meta])).not.toContain(token);
  });

  it.each(["short", "               x", "fifteen-letters", "white space in the token", "ключ-ключ-ключ-ключ"])(
    "from the environment is refused: %s",
    async (environmentToken) => {
      expect(problemOfAdminToken(environmentToken)).toMatch(/^KEYWHEEL_ADMIN_TOKEN /);
      await expect(open({ environmentToken })).rejects.toMatchObject({ code: "validation_failed" });
    },
  );

  it("stands beside the operator's", async () => {
    const { auth } = await open({ environmentToken: token, operatorToken: new Secret("operator-token") });

    expect([check(auth, "operator-token"), check(auth, token)]).toEqual(["right", "right"]);
  });

  it("is needed: without any, nothing is right", async () => {
    const { auth, madeToken } = await open({ makeToken: false });

    expect([madeToken, auth.hasAdminToken, check(auth, ""), check(auth, "x")]).toEqual([
      undefined,
      false,
      "unauthorized",
      "unauthorized",
    ]);
  });
});

describe("a new admin token", () => {
  it("ends what the former one opened, over a restart too, and is told to the redactor first", async () => {
    const learnt: string[] = [];
    const { auth, madeToken, store } = await open({
      learnSecrets: (values) => learnt.push(...[...values].map((value) => value.reveal())),
    });
    const cookie = auth.browsers.create();
    const { code } = auth.createSignInCode();

    const text = (await auth.rotate()).reveal();
    await vi.waitFor(() => expect(store.meta.get("browser_sessions")).not.toContain("hash"), { timeout: 10_000 });
    const later = await open({ store });

    for (const one of [auth, later.auth]) {
      expect([check(one, madeToken?.reveal() ?? ""), check(one, text)]).toEqual(["unauthorized", "right"]);
      expect(one.browsers.isValid(cookie)).toBe(false);
    }
    expect(() => auth.redeem(code, "10.0.0.1")).toThrow(/sign-in link/);
    expect(learnt).toEqual([text]);
    expect(JSON.stringify([...store.meta])).not.toContain(text.slice(4, 12));
  });

  it("that cannot be written changes nothing", async () => {
    const { auth, madeToken, store } = await open();
    const cookie = auth.browsers.create();
    store.setMeta = () => Promise.reject(new Error("the disk is full"));

    await expect(auth.rotate()).rejects.toThrow("the disk is full");

    expect(check(auth, madeToken?.reveal() ?? "")).toBe("right");
    expect(auth.browsers.isValid(cookie)).toBe(true);
  });
});

describe("wrong tokens", () => {
  it("are throttled by peer, while the right one passes at any time", async () => {
    const { auth, clock } = await open({ environmentToken: token });
    const tries = Array.from({ length: 12 }, () => check(auth, "wrong"));

    expect(tries.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => "unauthorized"));
    expect(tries.slice(10)).toEqual(["too_many_attempts", "too_many_attempts"]);
    expect(check(auth, token)).toBe("right");
    expect(check(auth, "wrong", "10.0.0.2")).toBe("unauthorized");
    clock.advance(60_000);
    expect(check(auth, "wrong")).toBe("unauthorized");
  });

  it("say how long to wait", async () => {
    const { auth, clock } = await open({
      environmentToken: token,
      throttle: { windowMs: 60_000, perPeer: 1, overall: 9 },
    });
    check(auth, "wrong");
    clock.advance(20_000);

    expect(() => auth.check("wrong", "10.0.0.1")).toThrow(expect.objectContaining({ retryAfterMs: 40_000 }));
  });

  it("are throttled overall", async () => {
    const { auth } = await open({ environmentToken: token, throttle: { windowMs: 60_000, perPeer: 5, overall: 20 } });
    const tries = Array.from({ length: 22 }, (_, n) => check(auth, "wrong", `10.0.0.${n}`));

    expect(tries.slice(-3)).toEqual(["unauthorized", "too_many_attempts", "too_many_attempts"]);
    expect(check(auth, token, "10.0.0.99")).toBe("right");
  });

  it("count for a whole IPv6 network, and for an IPv4 address in either form", async () => {
    const { auth } = await open({ environmentToken: token, throttle: { windowMs: 60_000, perPeer: 1, overall: 99 } });

    expect([
      check(auth, "w", "2001:db8:1:2::1"),
      check(auth, "w", "2001:db8:1:2::2"),
      check(auth, "w", "2001:db8:1:3::1"),
    ]).toEqual(["unauthorized", "too_many_attempts", "unauthorized"]);
    expect([check(auth, "w", "10.9.9.9"), check(auth, "w", "::ffff:10.9.9.9")]).toEqual([
      "unauthorized",
      "too_many_attempts",
    ]);
  });

  it("leave nothing behind that grows for ever", async () => {
    const { auth } = await open({ environmentToken: token, throttle: { windowMs: 60_000, perPeer: 1, overall: 1e9 } });

    for (let n = 0; n < 20_000; n++) check(auth, "w", `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);

    // The first peer was forgotten for the sake of later ones.
    expect(check(auth, "w", "10.0.0.0")).toBe("unauthorized");
  });
});

describe("a sign-in code", () => {
  it("signs a browser in, once", async () => {
    const { auth } = await open();
    const { code } = auth.createSignInCode();

    const cookie = auth.redeem(code, "10.0.0.1");

    expect(auth.browsers.isValid(cookie)).toBe(true);
    expect(() => auth.redeem(code, "10.0.0.1")).toThrow(/was used/);
  });

  it("ends after 15 minutes", async () => {
    const { auth, clock } = await open();
    const { code, expiresAt } = auth.createSignInCode();
    expect(expiresAt).toBe(clock.now() + 900_000);

    clock.advance(900_000);

    expect(() => auth.redeem(code, "10.0.0.1")).toThrow(/older than 15 minutes/);
  });

  it("cannot be guessed unnoticed", async () => {
    const { auth } = await open({ throttle: { windowMs: 60_000, perPeer: 1, overall: 9 } });
    const guess = (): string => auth.redeem("guess", "10.0.0.1");

    expect(guess).toThrow(expect.objectContaining({ code: "unauthorized" }));
    expect(guess).toThrow(expect.objectContaining({ code: "too_many_attempts" }));
  });
});

describe("a signed-in browser", () => {
  it("stays so while it is used, for 30 days at the most", async () => {
    const { auth, clock } = await open();
    const cookie = auth.browsers.create();

    for (let days = 0; days < 24; days += 6) {
      clock.advance(6 * 86_400_000);
      expect(auth.browsers.isValid(cookie)).toBe(true);
    }
    clock.advance(sessionLifeMs - 24 * 86_400_000);

    expect(auth.browsers.isValid(cookie)).toBe(false);
  });

  it("is not so for longer because the clock was a year ahead as it began", async () => {
    const { auth, clock } = await open();
    const yearMs = 365 * 86_400_000;
    clock.set(clock.now() + yearMs);
    const cookie = auth.browsers.create();
    clock.set(clock.now() - yearMs);

    for (let days = 0; days < 30; days += 6) {
      expect(auth.browsers.isValid(cookie)).toBe(true);
      clock.advance(6 * 86_400_000);
    }

    expect(auth.browsers.isValid(cookie)).toBe(false);
  });

  it("is signed out when it was not used for 7 days", async () => {
    const { auth, clock } = await open();
    const cookie = auth.browsers.create();

    clock.advance(sessionIdleMs);

    expect(auth.browsers.isValid(cookie)).toBe(false);
  });

  it("stays so over a restart, of which only a hash is kept", async () => {
    const { auth, store, clock } = await open();
    const cookie = auth.browsers.create();
    await Promise.resolve();

    const after = await open({ store, clock });

    expect(after.auth.browsers.isValid(cookie)).toBe(true);
    expect([...store.meta.values()].join()).not.toContain(cookie);
  });

  it("is signed out by another admin token, and by what cannot be read", async () => {
    const { auth, store, clock } = await open();
    const cookie = auth.browsers.create();
    await Promise.resolve();

    const other = await open({ store, clock, environmentToken: token });
    expect(other.auth.browsers.isValid(cookie)).toBe(false);
    store.meta.set("browser_sessions", "{broken");
    expect((await open({ store, clock })).auth.browsers.isValid(cookie)).toBe(false);
  });

  it("is signed in also when that cannot be written", async () => {
    const warnings: string[] = [];
    const store = { ...aStore(), setMeta: () => Promise.reject(new Error("full")) };
    const { auth } = await open({ store, environmentToken: token, warn: (message) => warnings.push(message) });

    const cookie = auth.browsers.create();
    await new Promise(setImmediate);

    expect([auth.browsers.isValid(cookie), warnings.length]).toEqual([true, 2]);
  });

  // Browsers send the cookies of a host to all of its ports: signing in at one gateway overwrote the other's cookie.
  it("has a cookie of a name that no other gateway on this host has, and that stays over a restart", async () => {
    const one = await open();
    const other = await open();
    const again = await open({ store: one.store });

    const names = [one, other, again].map(({ auth }) => auth.browsers.cookieName);

    expect(names[0]).toMatch(/^keywheel_session_[0-9a-f]{8}$/);
    expect(names[1]).not.toBe(names[0]);
    expect(names[2]).toBe(names[0]);
  });

  it("makes room for others, the longest unused first", async () => {
    const { auth, clock } = await open();
    const cookies = Array.from({ length: 201 }, () => {
      clock.advance(1);
      return auth.browsers.create();
    });

    expect([auth.browsers.isValid(cookies[0]!), auth.browsers.isValid(cookies[1]!)]).toEqual([false, true]);
  });
});
