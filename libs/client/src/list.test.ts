import { expect, it } from "vitest";

import { List } from "./list.ts";

it("the read of a page without a limit, or with the limit undefined, asks for 100 records", async () => {
  const limits: unknown[] = [];
  const list = new List<number>(({ limit }) => {
    limits.push(limit);
    return Promise.resolve({ items: [], next: null } as never);
  });
  await list.page();
  await list.page({ limit: undefined as never });
  await list.page({ limit: 5 });
  expect(limits).toEqual([100, 100, 5]);
});
