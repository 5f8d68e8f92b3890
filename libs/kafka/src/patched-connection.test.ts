import { createRequire } from "node:module";
import net from "node:net";

import { delay } from "@kapi/kernel";
import { afterEach, expect, test } from "vitest";

/** The part of kafkajs's connection that the patch changes. */
interface Connection {
  connect(): Promise<boolean>;
  close(): void;
  isConnected(): boolean;
}

const PatchedConnection = createRequire(import.meta.url)("kafkajs/src/network/connection") as new (
  options: object,
) => Connection;

const nothing = (): void => undefined;
const LOGGER = { namespace: () => LOGGER, debug: nothing, info: nothing, warn: nothing, error: nothing };
const CONNECT_TIMEOUT_MS = 600;

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function connectionTo(listener: net.Server, onDial: () => void = nothing): Promise<Connection> {
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as net.AddressInfo;
  const connection = new PatchedConnection({
    host: "127.0.0.1",
    port,
    logger: LOGGER,
    requestTimeout: 1_000,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    socketFactory: ({ onConnect, ...to }: { host: string; port: number; onConnect: () => void }) => {
      onDial();
      return net.connect({ host: to.host, port: to.port }, onConnect);
    },
  });
  open.push(listener, connection);
  return connection;
}

test("a connection attempt that is closed is rejected at once, and its timeout does not close a later connection", async () => {
  const connection = await connectionTo(net.createServer());
  const first = connection.connect();
  connection.close();
  await expect(first).rejects.toThrow("Closed connection");

  await connection.connect();
  // Longer than the timeout of the first attempt.
  await delay(CONNECT_TIMEOUT_MS + 100);
  expect(connection.isConnected()).toBe(true);
});
