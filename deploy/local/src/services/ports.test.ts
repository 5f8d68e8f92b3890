import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { freePort } from "@kapi/servers";
import { choosePorts } from "./ports.ts";

let folder: string;
let taken: number;
let server: net.Server;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-ports-"));
  taken = await freePort();
  server = net.createServer();
  await new Promise<void>((resolve) => server.listen(taken, "127.0.0.1", resolve));
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

describe("the ports of a stack", () => {
  it("stay the same from one start to the next, and differ from each other", async () => {
    const first = await choosePorts(folder, ["gateway", "live"], {}, {});
    const second = await choosePorts(folder, ["gateway", "live"], {}, {});
    expect(second.of("gateway")).toBe(first.of("gateway"));
    expect(second.of("live")).toBe(first.of("live"));
    expect(second.of("live")).not.toBe(second.of("gateway"));
  });

  it("include no default port that is in use: a free port replaces it", async () => {
    const ports = await choosePorts(folder, ["gateway"], {}, { gateway: taken });
    expect(ports.of("gateway")).not.toBe(taken);
  });

  it("cannot be requested if they are in use: the error names the port and the service", async () => {
    const ports = choosePorts(folder, ["gateway"], { gateway: taken }, {});
    await expect(ports).rejects.toThrow(`Port ${taken}, the requested port of gateway, is in use.`);
  });

  it("are the requested ports, even if the last start had other ports", async () => {
    await choosePorts(folder, ["gateway"], {}, {});
    const asked = await freePort();
    expect((await choosePorts(folder, ["gateway"], { gateway: asked }, {})).of("gateway")).toBe(asked);
  });

  it("are not the same as at the last start if another service now requests them", async () => {
    const names = ["console", "gateway"];
    const asked = (await choosePorts(folder, names, {}, {})).of("console");
    const ports = await choosePorts(folder, names, { gateway: asked }, {});
    expect(ports.of("gateway")).toBe(asked);
    expect(ports.of("console")).not.toBe(asked);
  });
});
