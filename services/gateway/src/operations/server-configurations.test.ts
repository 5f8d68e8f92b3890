import type { Server } from "@kapi/contracts";
import { TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import {
  CONFIGURATION_TTL_MS,
  createServerConfigurations,
  type ServerConfigurations,
} from "./server-configurations.ts";

const SERVER_ID = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a01";

/** A server whose leverages the test sets, and the number of loads. */
function fixture(): {
  configurations: ServerConfigurations;
  clock: TestClock;
  supported: number[];
  loads: () => number;
} {
  const clock = new TestClock();
  const supported = [1, 100];
  let loads = 0;
  const load = (serverId: string): Promise<Server> => {
    loads += 1;
    return Promise.resolve({
      serverId,
      serverName: "Demo",
      companyName: "Company",
      currency: "USD",
      currencySymbol: "$",
      environment: "demo",
      supportedLeverage: [...supported],
      defaultLeverage: null,
      status: "active",
    });
  };
  return { configurations: createServerConfigurations(load, clock), clock, supported, loads: () => loads };
}

describe("the leverages of a server", () => {
  it("are loaded once within half of their time to live", async () => {
    const { configurations, clock, loads } = fixture();
    const answers = await Promise.all([100, 1, 100].map((value) => configurations.supportsLeverage(SERVER_ID, value)));
    expect(answers).toEqual([true, true, true]);
    clock.advance(CONFIGURATION_TTL_MS / 2 - 1);
    expect(await configurations.supportsLeverage(SERVER_ID, 100)).toBe(true);
    expect(loads()).toBe(1);
  });

  it("are refreshed in the background while they are used, and not used after their time to live", async () => {
    const { configurations, clock, supported, loads } = fixture();
    await configurations.supportsLeverage(SERVER_ID, 100);
    clock.advance(CONFIGURATION_TTL_MS / 2);
    expect(await configurations.supportsLeverage(SERVER_ID, 100)).toBe(true);
    expect(loads()).toBe(2);
    clock.advance(CONFIGURATION_TTL_MS);
    supported.pop();
    expect(await configurations.supportsLeverage(SERVER_ID, 100)).toBe(false);
  });

  it("are loaded again before a leverage is rejected, so a new leverage is accepted at once", async () => {
    const { configurations, supported } = fixture();
    expect(await configurations.supportsLeverage(SERVER_ID, 7)).toBe(false);
    supported.push(7);
    expect(await configurations.supportsLeverage(SERVER_ID, 7)).toBe(true);
  });

  it("are loaded again after a call of `forget`, also if a load was running", async () => {
    const { configurations, supported, loads } = fixture();
    const before = configurations.supportsLeverage(SERVER_ID, 100);
    configurations.forget(SERVER_ID);
    supported.pop();
    expect(await before).toBe(true);
    expect(await configurations.supportsLeverage(SERVER_ID, 100)).toBe(false);
    expect(loads()).toBe(2);
  });
});
