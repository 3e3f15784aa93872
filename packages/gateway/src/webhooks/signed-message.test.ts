import { Secret } from "@keywheel/pool";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { bodyOf, signatureHeaders } from "./signed-message.ts";

const secret = new Secret(`whsec_${Buffer.alloc(32, "invented").toString("base64")}`);

function headersAt(at: number, body: string, secrets = [secret]): Record<string, string> {
  const flat = signatureHeaders({ id: "msg_1", body, secrets, at });
  return Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, index) => flat.slice(2 * index, 2 * index + 2)),
  );
}

it("is taken by the library that the specification's authors give to receivers", () => {
  const at = Date.now();
  const body = bodyOf("key.disabled", { message: "nö" }, at);

  const received = new Webhook(secret.reveal()).verify(body, headersAt(at, body));

  expect(received).toEqual({ type: "key.disabled", timestamp: new Date(at).toISOString(), data: { message: "nö" } });
});

it("is refused by it with another body, another secret, and too late", () => {
  const body = bodyOf("key.disabled", {}, Date.now());
  const other = `whsec_${Buffer.alloc(32, "other").toString("base64")}`;
  const receiver = new Webhook(secret.reveal());

  expect(() => receiver.verify(`${body} `, headersAt(Date.now(), body))).toThrow(/signature/i);
  expect(() => new Webhook(other).verify(body, headersAt(Date.now(), body))).toThrow(/signature/i);
  expect(() => receiver.verify(body, headersAt(Date.now() - 600_000, body))).toThrow(/old/i);
});

it("matches the example of the specification", () => {
  const example = new Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const body = '{"test": 2432232314}';

  expect(
    signatureHeaders({ id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body, secrets: [example], at: 1_614_265_330_000 }),
  ).toEqual([
    "webhook-id",
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp",
    "1614265330",
    "webhook-signature",
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  ]);
});

it("is taken by receivers that have the new secret and by those that have the former one", () => {
  const former = new Secret(`whsec_${Buffer.alloc(32, "former").toString("base64")}`);
  const body = bodyOf("key.disabled", {}, Date.now());
  const headers = headersAt(Date.now(), body, [secret, former]);

  for (const held of [secret, former])
    expect(new Webhook(held.reveal()).verify(body, headers)).toMatchObject({ type: "key.disabled" });
  expect(headers["webhook-signature"]?.split(" ")).toHaveLength(2);
});
