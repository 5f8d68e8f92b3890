import { existsSync } from "node:fs";

import { startStack } from "@kapi/local";
import { LocalError } from "@kapi/servers";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** A service that calls no other service, so it can run alone. */
const SERVICE = "trading-simulator";

async function answers(url: string): Promise<boolean> {
  try {
    const { ok } = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(500) });
    return ok;
  } catch {
    return false;
  }
}

describe("a stack", () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack({ services: [SERVICE] });
  });
  afterAll(() => stack.stop());

  it("is ready after the start, and its service answers at its address", async () => {
    expect(await answers(stack.url(SERVICE))).toBe(true);
    expect(stack.tradingServerUrl).toBe(stack.url(SERVICE));
  });

  it("leaves a killed service down until its restart; then a new process answers at the same address", async () => {
    const service = stack.process(SERVICE);
    const before = service.pid;
    service.kill("SIGKILL");
    expect(await service.ended()).toEqual({ code: null, signal: "SIGKILL" });
    expect(service.pid).toBeNull();
    expect(await answers(service.url)).toBe(false);
    await service.restart();
    expect(await answers(service.url)).toBe(true);
    expect(service.pid).not.toBe(before);
  });

  it("can pause a service: the service does not answer until it gets SIGCONT", async () => {
    const service = stack.process(SERVICE);
    service.kill("SIGSTOP");
    expect(await answers(service.url)).toBe(false);
    service.kill("SIGCONT");
    expect(await eventually(() => answers(service.url))).toBe(true);
  });

  it("fails to start a service with an invalid setting, and the error has the last lines of the service's log", async () => {
    const service = stack.process(SERVICE);
    await service.stop();
    await expect(service.start({ POSTGRES_POOL_SIZE: "many" })).rejects.toThrow(/POSTGRES_POOL_SIZE/);
    await service.restart();
  });

  it("starts nothing if the start is aborted before it begins", async () => {
    const stateDir = `${stack.environment.stateDir}-aborted`;
    const start = startStack({ stateDir, services: [SERVICE], signal: AbortSignal.abort() });
    await expect(start).rejects.toThrow("The start was aborted.");
    expect(existsSync(`${stateDir}/ports.json`)).toBe(false);
  });

  it("runs on the same servers as another stack, and continues after the other stack stops", async () => {
    const other = await startTestStack({ services: [SERVICE] });
    expect(other.url(SERVICE)).not.toBe(stack.url(SERVICE));
    expect(await answers(other.url(SERVICE))).toBe(true);
    await other.stop();
    expect(await answers(other.url(SERVICE))).toBe(false);
    expect(await answers(stack.url(SERVICE))).toBe(true);
    expect(existsSync(other.environment.stateDir)).toBe(false);
  });

  it("continues while a second start in its state folder fails", async () => {
    const { environment, servers } = stack;
    const again = startStack({ stateDir: `${environment.stateDir}-stack`, servers });
    await expect(again).rejects.toThrow(LocalError);
    expect(await answers(stack.url(SERVICE))).toBe(true);
  });
});
