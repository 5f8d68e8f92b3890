import type { Database } from "@kapi/postgres";
import { expect, it } from "vitest";

import { readAuditEntries } from "./audit-outbox.ts";

it("each audit entry is returned with the id of its row as `eventId`", async () => {
  const id = "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a10";
  const rows = [
    { id, entry: { eventId: "another", action: "webhook.created" } },
    { id, entry: null },
  ];
  const database = { query: () => Promise.resolve(rows) } as unknown as Database;
  expect(await readAuditEntries(database, 2)).toEqual([{ eventId: id, action: "webhook.created" }, { eventId: id }]);
});
