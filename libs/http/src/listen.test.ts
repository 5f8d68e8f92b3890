import { once } from "node:events";
import { connect } from "node:net";

import { createLogger, Health } from "@kapi/runtime";
import { describe, expect, it, vi } from "vitest";

import { type Listening, startListening } from "./listen.ts";
import { createHttpServer } from "./server.ts";

interface Running {
  readonly listening: Listening;
  readonly health: Health;
  /** Resolves when a request to /slow has begun. */
  readonly begun: Promise<void>;
  readonly finish: () => void;
  /** The number of requests that the server has read. */
  readonly requests: () => number;
  readonly stop: () => Promise<void>;
}

async function start(drainTimeoutMs?: number): Promise<Running> {
  const health = new Health();
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health });
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  app.get("/slow", async () => {
    begun.resolve();
    await finish.promise;
    return { done: true };
  });
  let requests = 0;
  app.server.on("request", () => (requests += 1));
  const limit = drainTimeoutMs === undefined ? {} : { drainTimeoutMs };
  const { value, stop } = await startListening(app, { host: "127.0.0.1", port: 0, ...limit });
  return { listening: value, health, begun: begun.promise, finish: finish.resolve, requests: () => requests, stop };
}

describe("stopping a server", () => {
  it("closes each connection with its next response, so that clients connect to another process", async () => {
    const { listening, health, stop } = await start();
    const connection = async (): Promise<string | null> =>
      (await fetch(`${listening.url}/livez`)).headers.get("connection");
    expect(await connection()).toBe("keep-alive");
    health.beginStop();
    expect(await connection()).toBe("close");
    await stop();
  });

  it("lets a running request finish; the server is not ready and accepts no new connection", async () => {
    const { listening, health, begun, finish, stop } = await start();
    const answer = fetch(`${listening.url}/slow`);
    await begun;
    const stopped = stop();
    await refusesConnections(listening.port);
    expect(health.ready().ok).toBe(false);
    finish();
    expect(await (await answer).json()).toEqual({ done: true });
    await stopped;
  });

  it("answers a request on an open connection, then closes the connection", async () => {
    const { listening, begun, finish, requests, stop } = await start();
    const socket = connect(listening.port, "127.0.0.1");
    socket.write("GET /slow HTTP/1.1\r\nhost: x\r\n\r\n");
    await begun;
    const stopped = stop();
    await refusesConnections(listening.port);
    socket.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
    await vi.waitFor(() => expect(requests()).toBe(2));
    finish();
    const chunks: Buffer[] = await socket.toArray();
    expect(
      Buffer.concat(chunks)
        .toString()
        .match(/HTTP\/1\.1 \d+/g),
    ).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    await stopped;
  });

  it("does not wait for idle connections", async () => {
    const { listening, stop } = await start(60_000);
    const idle = connect(listening.port, "127.0.0.1");
    const closed = once(idle, "close");
    idle.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(idle, "data");
    await stop();
    await closed;
  });

  it("does not wait for connections that never sent a request", async () => {
    const { listening, stop } = await start(60_000);
    const unused = connect(listening.port, "127.0.0.1");
    const closed = once(unused, "close");
    await once(unused, "connect");
    await stop();
    await closed;
  });

  it("answers the first request of a connection that was opened before the stop", async () => {
    const { listening, begun, finish, stop } = await start();
    const socket = connect(listening.port, "127.0.0.1");
    await once(socket, "connect");
    const running = fetch(`${listening.url}/slow`);
    await begun;
    const stopped = stop();
    await refusesConnections(listening.port);
    socket.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 200/);
    finish();
    await running;
    await stopped;
  });

  it("closes the connections of running requests after the time limit", async () => {
    const { listening, begun, stop } = await start(30);
    const cut = expect(fetch(`${listening.url}/slow`)).rejects.toThrow("fetch failed");
    await begun;
    await stop();
    await cut;
  });
});

it("startListening rejects if the address is in use", async () => {
  const { listening, stop } = await start();
  const logger = createLogger({ service: "test", level: "silent" });
  const second = createHttpServer({ logger, health: new Health() });
  await expect(startListening(second, { host: "127.0.0.1", port: listening.port })).rejects.toThrow("EADDRINUSE");
  await stop();
});

/** Polls until a new connection is refused; the test's own time limit is the deadline. */
async function refusesConnections(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const refused = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(false)).once("error", () => resolve(true));
    });
    socket.destroy();
    if (refused) return;
  }
}
