import { expect, it } from "vitest";

import { RiskRules } from "./risk.ts";

const RULE = { id: "loss", type: "maxLoss", action: "notify", trailing: "equity", startValue: 1_282.34 } as const;

it.each([
  [{ limit: { amount: 100 }, lockAt: 1_182.34 }, true],
  [{ limit: { amount: 100 }, lockAt: 1_182.33 }, false],
  [{ limit: { percent: 7 }, startValue: 100_000.3, lockAt: 93_000.28 }, true],
  [{ limit: { percent: 7 }, startValue: 100_000, lockAt: 93_000 }, true],
  [{ limit: { percent: 7 }, startValue: 100_000, lockAt: 92_999.99 }, false],
])("`lockAt` must not be below the first threshold of its rule: %j, accepted: %s", (fields, isAccepted) => {
  expect(RiskRules.safeParse([{ ...RULE, ...fields }]).success).toBe(isAccepted);
});
