/**
 * The conformance tests of the trading-server contract. Whoever writes a bridge to a real platform
 * runs them against it:
 *
 * describeTradingServerConformance("our bridge", async () => ({ value: { client, serverId,
 * openPosition }, stop }));
 *
 * They use the contract alone, on accounts of their own, and expect nothing about prices.
 */
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, describe } from "vitest";

import type { ServerConfiguration } from "../../src/contract.ts";
import { addAccountTests } from "./accounts.ts";
import { Bench, type ConformanceTarget } from "./bench.ts";
import { addReferenceTests } from "./references.ts";

export type { ConformanceTarget } from "./bench.ts";

const CONFIGURATION: ServerConfiguration = {
  serverName: "Conformance",
  companyName: "Conformance",
  currency: "USD",
  environment: "demo",
  supportedLeverage: [1, 50, 100],
  defaultLeverage: 100,
};

/** Defines the tests as `name`. `start` gives the target, which is stopped at the end. */
export function describeTradingServerConformance(name: string, start: () => Promise<Started<ConformanceTarget>>): void {
  describe(`${name} keeps the trading-server contract`, () => {
    let started: Started<ConformanceTarget> | null = null;
    const bench = new Bench(() => {
      if (started === null) throw new Error("the target has not been started");
      return started.value;
    });
    beforeAll(async () => {
      started = await start();
      await started.value.client.configure(started.value.serverId, CONFIGURATION);
    });
    afterAll(async () => {
      await started?.stop();
    });
    addReferenceTests(bench);
    addAccountTests(bench);
  });
}
