import { DEFAULT_WEBHOOK_KINDS, WEBHOOK_KINDS } from "@kapi/contracts";
import { expect, it } from "vitest";

import { ALL_KINDS, DEFAULT_KINDS, KIND_GROUPS } from "./webhook-kinds.ts";

it("the form offers each kind once, without webhook.test, and preselects the default kinds; the filter has every kind", () => {
  const offered = KIND_GROUPS.flatMap(({ kinds }) => kinds);
  expect(offered.toSorted()).toEqual(WEBHOOK_KINDS.filter((kind) => kind !== "webhook.test").toSorted());
  expect(DEFAULT_KINDS.toSorted()).toEqual(DEFAULT_WEBHOOK_KINDS.filter((kind) => kind !== "webhook.test").toSorted());
  expect(ALL_KINDS.toSorted()).toEqual([...WEBHOOK_KINDS].toSorted());
});
