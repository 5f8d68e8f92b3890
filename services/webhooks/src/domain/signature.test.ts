import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";

import { generateSecret, signatureOf, signingKey } from "./signature.ts";

const message = {
  id: "0197a3c2-71f4-7b02-a9d8-15e6c3b08f06",
  timestamp: Math.floor(Date.now() / 1_000),
  body: '{"ü":1}',
};

function headersOf(signature: string): Record<string, string> {
  return {
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestamp),
    "webhook-signature": signature,
  };
}

describe("a signature", () => {
  it("equals the signature of the standardwebhooks package, which verifies it", () => {
    const secret = generateSecret();
    const theirs = new Webhook(secret).sign(message.id, new Date(message.timestamp * 1_000), message.body);
    expect(signatureOf([signingKey(secret)], message)).toBe(theirs);
    expect(new Webhook(secret).verify(message.body, headersOf(theirs))).toEqual({ ü: 1 });
  });

  it("covers the id, the time and the whole body", () => {
    const secret = generateSecret();
    const verifier = new Webhook(secret);
    const signature = signatureOf([signingKey(secret)], message);
    expect(() => verifier.verify('{"ü":2}', headersOf(signature))).toThrow();
    expect(() => verifier.verify(message.body, { ...headersOf(signature), "webhook-id": "another" })).toThrow();
    const later = String(message.timestamp + 1);
    expect(() => verifier.verify(message.body, { ...headersOf(signature), "webhook-timestamp": later })).toThrow();
  });

  it("made with two secrets is verified with either of them", () => {
    const secrets = [generateSecret(), generateSecret()];
    const signature = signatureOf(secrets.map(signingKey), message);
    for (const secret of secrets) new Webhook(secret).verify(message.body, headersOf(signature));
    expect(() => new Webhook(generateSecret()).verify(message.body, headersOf(signature))).toThrow();
  });
});
