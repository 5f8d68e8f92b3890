import { expect, it } from "vitest";

import { ListEventsQuery } from "./webhooks.ts";

const KINDS = ["deal.executed", "margin.call", "webhook.test"];

it.each([
  ["separated by commas", KINDS.join(",")],
  ["as a repeated parameter", KINDS],
  ["in both ways", ["deal.executed,margin.call", "webhook.test"]],
])("a list of kinds can be given %s", (_how, kinds) => {
  expect(ListEventsQuery.parse({ kinds }).kinds).toEqual(KINDS);
});

it.each([
  ["an unknown kind", ["deal.executed", "deal.changed"]],
  ["a kind that is given twice", ["deal.executed", "margin.call,deal.executed"]],
  ["no kind", ""],
])("a list of kinds with %s is invalid", (_what, kinds) => {
  const { error } = ListEventsQuery.safeParse({ kinds });
  expect(error?.issues[0]?.path[0]).toBe("kinds");
});
