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

  it("a taken default is replaced by a free port", async () => {
    const ports = await choosePorts(folder, ["gateway"], {}, { gateway: taken });
    expect(ports.of("gateway")).not.toBe(taken);
  });

  it("a requested port that is taken is an error, and the error names the service", async () => {
    const ports = choosePorts(folder, ["gateway"], { gateway: taken }, {});
    await expect(ports).rejects.toThrow(`Port ${taken}, the requested port of gateway, is in use.`);
  });

  it("a requested port has precedence over the port of the last start", async () => {
    await choosePorts(folder, ["gateway"], {}, {});
    const asked = await freePort();
    expect((await choosePorts(folder, ["gateway"], { gateway: asked }, {})).of("gateway")).toBe(asked);
  });

  it("a requested port is not given to another name that had it at the last start", async () => {
    const names = ["console", "gateway"];
    const asked = (await choosePorts(folder, names, {}, {})).of("console");
    const ports = await choosePorts(folder, names, { gateway: asked }, {});
    expect(ports.of("gateway")).toBe(asked);
    expect(ports.of("console")).not.toBe(asked);
  });
});
