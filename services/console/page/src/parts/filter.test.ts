import { afterEach, expect, it, vi } from "vitest";

import { filterBy } from "./filter.ts";

afterEach(() => vi.unstubAllGlobals());

it.each([
  ["a changed filter starts the list at its first page", { status: "failed" }, "?by=me&status=failed"],
  ["a removed filter starts the list at its first page", { by: "" }, ""],
  ["a chosen page keeps the filters", { page: 3 }, "?by=me&page=3"],
])("%s", (_what, changes, expected) => {
  const pushState = vi.fn<History["pushState"]>();
  vi.stubGlobal("history", { pushState });
  vi.stubGlobal("dispatchEvent", vi.fn<() => void>());
  filterBy("/commands", new URLSearchParams("by=me&page=2&cursor=c"), changes);
  expect(pushState.mock.calls).toEqual([[null, "", `/console/commands${expected}`]]);
});
