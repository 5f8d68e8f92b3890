/** Checks of a receiver's TLS certificate. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { createAuthority } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { Receiver, verified } from "./receiver.ts";
import { Harness } from "./harness.ts";

let harness: Harness;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-receivers-"));
  harness = await Harness.prepare();
});
afterAll(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
});

it("only a receiver with a valid certificate for its host gets events", async () => {
  const [known, unknown] = await Promise.all(["known", "unknown"].map((name) => createAuthority(folder, name)));
  if (known === undefined || unknown === undefined) throw new Error("an authority is missing");
  await harness.spawn({ NODE_EXTRA_CA_CERTS: known.certificateFile });
  const who = [
    { identity: await known.issue("localhost"), error: null },
    { identity: await known.issue("elsewhere.example"), error: /does not match certificate/ },
    { identity: await unknown.issue("localhost"), error: /unable to verify|self-signed/ },
  ];
  for (const { identity, error } of who) {
    const receiver = await Receiver.start(identity);
    try {
      const { id, secret } = await harness.createEndpoint({ url: `https://localhost:${receiver.port}/hook` });
      await harness.call("POST", `/webhooks/${id}/test`);
      const { status, attempts } = await harness.attempted(id, 1);
      if (error === null) {
        expect(status).toBe("succeeded");
        verified(secret, receiver.received[0] ?? expect.fail(), Date.now());
      } else {
        expect(status).toBe("pending");
        expect(attempts[0]).toMatchObject({ status: null, error: expect.stringMatching(error) as string });
        expect(receiver.received).toEqual([]);
      }
    } finally {
      await receiver.stop();
    }
  }
});
