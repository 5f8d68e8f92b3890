/**
 * The conformance tests of the trading-server contract, for every bridge to a platform:
 *
 *     describeTradingServerConformance("our bridge", async () => {
 *       const trader = { openPosition, placeOrder, closePositions };
 *       return { value: { client, serverId, ...trader }, stop };
 *     });
 *
 * The tests use the contract, and three actions of a trader that are not part of the contract. The
 * tests create their own accounts, and expect nothing about prices.
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

/** Defines the tests under `name`. `start` starts the target; it is stopped after the tests. */
export function describeTradingServerConformance(name: string, start: () => Promise<Started<ConformanceTarget>>): void {
  describe(`${name} keeps the trading-server contract`, () => {
    let started: Started<ConformanceTarget> | null = null;
    const bench = new Bench(() => {
      if (started === null) throw new Error("the conformance target is used before `start` has resolved");
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
