import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { expect, it } from "vitest";

import { type PassReport, startReconciler } from "./reconcile.ts";

it("the reconciliation calls an unreachable trading server only a few times in a pass", async () => {
  const serverId = randomUUID();
  const accounts = Array.from({ length: 50 }, (_, index) => ({ serverId, accountNumber: String(1_000 + index) }));
  const unreachable = new Error("the server does not answer");
  let calls = 0;
  const passes: { readonly report: PassReport; readonly calls: number }[] = [];
  const reconciler = startReconciler({
    balances: {
      after: (previous) => Promise.resolve(previous === null ? accounts : []),
      balancesAt: () => Promise.resolve([]),
    },
    client: {
      snapshot: () => {
        calls += 1;
        return Promise.reject(unreachable);
      },
      eventSequence: () => Promise.reject(unreachable),
    },
    isUnreachable: (error) => error === unreachable,
    onPass: (report) => passes.push({ report, calls }),
    intervalMs: 1,
    logger: createLogger({ service: "test", level: "silent" }),
  });
  await eventually(() => passes.length > 0);
  await reconciler.stop();
  expect(passes[0]?.report.unreachable).toBe(accounts.length);
  // When the third call fails, three other calls may be running.
  expect(passes[0]?.calls).toBeLessThanOrEqual(6);
});
