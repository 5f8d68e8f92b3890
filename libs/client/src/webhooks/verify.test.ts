import { Webhook } from "standardwebhooks";
import { expect, expectTypeOf, it } from "vitest";

import type { WebhookEvent, WebhookKind } from "../generated/api.ts";
import { verifyWebhook, WebhookSignatureError } from "./verify.ts";

const SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const OTHER = `whsec_${Buffer.alloc(32, 2).toString("base64")}`;
const BODY = JSON.stringify({
  type: "transaction.recorded",
  timestamp: "2026-03-02T10:05:00.000Z",
  data: { amount: 250.5 },
});

function signed(body = BODY, at = new Date(), secret = SECRET): Record<string, string> {
  return {
    "webhook-id": "1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign("1", at, body),
  };
}

it("verifyWebhook returns the event of an authentic delivery, with amounts as decimal strings", () => {
  for (const raw of [BODY, Buffer.from(BODY), new Uint8Array(Buffer.from(BODY))]) {
    expect(verifyWebhook(raw, signed(), SECRET)).toMatchObject({
      type: "transaction.recorded",
      data: { amount: "250.50" },
    });
  }
  expect(verifyWebhook(BODY, new Headers(signed()), SECRET).type).toBe("transaction.recorded");
});

it("verifyWebhook accepts either of two secrets, as after a rotation", () => {
  for (const secret of [OTHER, SECRET]) {
    const headers = signed(BODY, new Date(), secret);
    expect(verifyWebhook(BODY, headers, [OTHER, SECRET]).type).toBe("transaction.recorded");
  }
});

it("verifyWebhook returns events of kinds that this version does not know", () => {
  const body = JSON.stringify({ type: "later.kind", timestamp: "2026-03-02T10:05:00.000Z", data: {} });
  expect(verifyWebhook(body, signed(body), SECRET).type).toBe("later.kind");
});

it.each([
  ["an added byte", `${BODY} `, signed(), SECRET],
  ["another secret", BODY, signed(BODY, new Date(), OTHER), SECRET],
  ["an old time", BODY, signed(BODY, new Date(Date.now() - 6 * 60_000)), SECRET],
  ["a time in the future", BODY, signed(BODY, new Date(Date.now() + 6 * 60_000)), SECRET],
  ["a missing header", BODY, { "webhook-id": "1" }, SECRET],
])("verifyWebhook rejects a delivery with %s", (_what, body, headers, secrets) => {
  expect(() => verifyWebhook(body, headers, secrets)).toThrow(WebhookSignatureError);
});

it.each([
  ["no secret", []],
  ["an empty secret", ""],
  ["a secret after an empty one", ["", SECRET]],
  ["a secret without its prefix", SECRET.slice("whsec_".length)],
])("verifyWebhook throws TypeError for %s, even if the delivery has no headers", (_what, secrets) => {
  expect(() => verifyWebhook(BODY, signed(), secrets)).toThrow(TypeError);
  expect(() => verifyWebhook(BODY, {}, secrets)).toThrow(TypeError);
});

it("WebhookEvent has a type for every kind of event", () => {
  expectTypeOf<WebhookEvent["type"]>().toEqualTypeOf<WebhookKind>();
});
