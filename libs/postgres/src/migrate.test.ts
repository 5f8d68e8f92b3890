import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";

import { deferred } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { afterEach, expect, it, vi } from "vitest";

import { migrate } from "./migrate.ts";

/** The answers to a sign-in: authenticated, and ready for a statement. */
const SIGNED_IN = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
const ELEVEN_MINUTES_MS = 660_000;

afterEach(() => vi.useRealTimers());

it("a migration fails if the server never answers a running statement", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = deferred<void>();
  const server = net.createServer((socket) => {
    socket.once("data", () => {
      socket.once("data", () => asked.resolve());
      socket.write(SIGNED_IN);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const directory = await mkdtemp(path.join(os.tmpdir(), "migrations-"));
  const logger = createLogger({ service: "test", level: "silent" });
  const connectionString = `postgres://kapi:kapi@127.0.0.1:${port}/kapi`;
  const ended = migrate({ connectionString, schema: "account", directory, logger }).then(
    () => "migrated",
    (error: Error) => error.message,
  );
  await asked.promise;
  await vi.advanceTimersByTimeAsync(ELEVEN_MINUTES_MS);
  expect(await ended).toBe("Query read timeout");
  server.close();
  await rm(directory, { recursive: true });
});
