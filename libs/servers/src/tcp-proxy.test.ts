import net from "node:net";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { TcpProxy } from "./tcp-proxy.ts";

const SILENT_MS = 100;

/** A server that sends back all data, and records it. */
async function startEcho(): Promise<{ port: number; received: string[]; stop(): Promise<void> }> {
  const received: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      received.push(data.toString("utf8"));
      socket.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { port: (server.address() as net.AddressInfo).port, received, stop };
}

/** What happened to one connection of a client. */
class Client {
  readonly socket: net.Socket;
  text = "";
  error = "";
  ended = false;

  constructor(port: number) {
    this.socket = net.connect({ host: "127.0.0.1", port });
    this.socket.on("data", (data) => (this.text += data.toString("utf8")));
    this.socket.on("error", (error) => (this.error = (error as { code?: string }).code ?? ""));
    this.socket.on("close", () => (this.ended = true));
  }

  say(text: string): void {
    this.socket.write(text);
  }
}

describe("a TCP proxy", () => {
  let echo: Awaited<ReturnType<typeof startEcho>>;
  let proxy: TcpProxy;
  let client: Client;
  beforeEach(async () => {
    echo = await startEcho();
    proxy = await TcpProxy.open({ host: "127.0.0.1", port: echo.port });
    client = new Client(proxy.port);
    client.say("a");
    await expect.poll(() => client.text).toBe("a");
  });
  afterEach(async () => {
    client.socket.destroy();
    await proxy.close();
    await echo.stop();
  });

  /** Expects that no further bytes arrive within `silentMs`. */
  async function nothingMoreThan(text: string, silentMs = SILENT_MS): Promise<void> {
    const end = Date.now() + silentMs;
    await expect.poll(() => Date.now() > end).toBe(true);
    expect(client.text).toBe(text);
    expect(client.ended).toBe(false);
  }

  it("resets connections and refuses new ones after `refuse`, and accepts new ones at the same port after `pass`", async () => {
    await proxy.refuse();
    await expect.poll(() => client.error).toBe("ECONNRESET");
    const refused = new Client(proxy.port);
    await expect.poll(() => refused.error).toBe("ECONNREFUSED");
    await proxy.pass();
    const again = new Client(proxy.port);
    again.say("b");
    await expect.poll(() => again.text).toBe("b");
    again.socket.destroy();
  });

  it("keeps connections open after `blackhole`, even if the server stops, and passes the held data on after `pass`", async () => {
    await proxy.blackhole();
    client.say("b");
    const late = new Client(proxy.port);
    late.say("c");
    await nothingMoreThan("a");
    expect(echo.received).toEqual(["a"]);
    expect(late.ended).toBe(false);
    await proxy.pass();
    await expect.poll(() => client.text).toBe("ab");
    await expect.poll(() => late.text).toBe("c");
    await proxy.blackhole();
    await echo.stop();
    await nothingMoreThan("ab");
    await proxy.pass();
    await expect.poll(() => client.ended).toBe(true);
    late.socket.destroy();
  });

  it("passes requests on after `dropReplies`, and resets the connection as soon as replies can pass again", async () => {
    await proxy.dropReplies();
    client.say("b");
    await expect.poll(() => echo.received).toEqual(["a", "b"]);
    await nothingMoreThan("a");
    await proxy.pass();
    await expect.poll(() => client.error).toBe("ECONNRESET");
  });

  it("delays all data after `delay`, and delivers the data in order", async () => {
    await proxy.delay(SILENT_MS);
    const beganMs = performance.now();
    for (const text of ["b", "c", "d"]) client.say(text);
    await expect.poll(() => client.text).toBe("abcd");
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(2 * SILENT_MS - 5);
  });

  it.each(["blackhole", "freeze"] as const)("delivers delayed data only after the end of a %s", async (fault) => {
    await proxy.delay(SILENT_MS);
    client.say("b");
    await expect.poll(() => echo.received).toEqual(["a", "b"]);
    await proxy[fault]();
    await nothingMoreThan("a", 2 * SILENT_MS);
    await proxy.pass();
    await expect.poll(() => client.text).toBe("ab");
  });

  it("resets connections after `cut`, and accepts new ones at once", async () => {
    proxy.cut();
    await expect.poll(() => client.error).toBe("ECONNRESET");
    expect(proxy.connections).toBe(0);
    const again = new Client(proxy.port);
    again.say("b");
    await expect.poll(() => again.text).toBe("b");
    again.socket.destroy();
  });

  it("connects new connections to a new target, and resets connections to the former target", async () => {
    const other = await startEcho();
    proxy.retarget({ host: "127.0.0.1", port: other.port });
    await expect.poll(() => client.error).toBe("ECONNRESET");
    const again = new Client(proxy.port);
    again.say("b");
    await expect.poll(() => other.received).toEqual(["b"]);
    again.socket.destroy();
    await other.stop();
  });
});

it("a proxy in front of a URL without a port is rejected, and the error does not show the password", async () => {
  await expect(TcpProxy.inFrontOf("postgres://kapi:secret@db.example/kapi")).rejects.toThrow(
    "The address of db.example has no port: add it, for example db.example:5432.",
  );
});
