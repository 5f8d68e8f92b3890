/** Whom a receiver has to be, to be sent anything over https. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { createAuthority } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { Receiver, verified } from "./receiver.ts";
import { World } from "./world.ts";

let world: World;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-receivers-"));
  world = await World.prepare();
});
afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true });
});

it("who proves to be the one that the address names is sent events; whoever else answers there is told nothing", async () => {
  const [known, unknown] = await Promise.all(["known", "unknown"].map((name) => createAuthority(folder, name)));
  if (known === undefined || unknown === undefined) throw new Error("two authorities were made");
  await world.spawn({ NODE_EXTRA_CA_CERTS: known.certificateFile });
  const who = [
    { identity: await known.issue("localhost"), error: null },
    { identity: await known.issue("elsewhere.example"), error: /does not match certificate/ },
    { identity: await unknown.issue("localhost"), error: /unable to verify|self-signed/ },
  ];
  for (const { identity, error } of who) {
    const receiver = await Receiver.start(identity);
    try {
      const { id, secret } = await world.createEndpoint({ url: `https://localhost:${receiver.port}/hook` });
      await world.call("POST", `/webhooks/${id}/test`);
      const { status, attempts } = await world.attempted(id, 1);
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
