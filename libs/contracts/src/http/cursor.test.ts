import { randomUUID } from "node:crypto";

import { describe, expect, it } from "vitest";

import { type CursorList, decodeCursor, encodeCursor, listScope, MAX_CURSOR_CHARACTERS } from "./cursor.ts";
import { ListOrdersQuery } from "./history.ts";
import { cursorPage, pageStart } from "./pagination.ts";

const AT = "2026-01-01T00:00:00.123456Z";
const LONGEST = listScope({ serverId: randomUUID(), accountNumber: "A".repeat(32) });
const PAGE = 999_999_999_999_999;

describe("a cursor", () => {
  it("has at most 200 characters, and decodes to the content that was encoded", () => {
    const cursors = [
      ["transactions", LONGEST, [Number.MAX_SAFE_INTEGER]],
      ["accounts", listScope({ serverId: randomUUID() }), [AT, "A".repeat(32)]],
      ["commands", listScope({ serverId: randomUUID() }), [AT, randomUUID()]],
      ["usage", listScope({}), [AT, randomUUID(), "consume"]],
      ["deliveries", listScope({ endpointId: randomUUID() }), [AT, randomUUID()]],
    ] as const;
    for (const [list, scope, after] of cursors) {
      const content = { scope, page: PAGE, after } as never;
      const text = encodeCursor<CursorList>(list, content);
      expect(text.length).toBeLessThanOrEqual(MAX_CURSOR_CHARACTERS);
      expect(decodeCursor<CursorList>(list, text)).toEqual(content);
    }
  });

  it("of another version or list, or with malformed content, is rejected", () => {
    const written = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString("base64url");
    const id = randomUUID();
    expect(decodeCursor("commands", written([1, "commands", "", 2, AT, id]))).not.toBeNull();
    for (const content of [
      [2, "commands", "", 2, AT, id],
      [1, "deliveries", "", 2, AT, id],
      [1, "commands", 3, 2, AT, id],
      [1, "commands", "", 0, AT, id],
      [1, "commands", "", 2, AT],
      [1, "commands", "", 2, AT, id, id],
      [1, "commands", "", 2, "2026-02-30T00:00:00.000000Z", id],
      [1, "commands", "", 2, "0000-01-01T00:00:00.000000Z", id],
      [1, "commands", "", 2, AT, "'; drop table commands"],
      null,
      {},
    ]) {
      expect([content, decodeCursor("commands", written(content))]).toEqual([content, null]);
    }
  });
});

describe("a query of a list", () => {
  const cursor = encodeCursor("orders", { scope: "s", page: 2, after: [8] });
  const valid = ListOrdersQuery.parse({ cursor });

  it("may have page 1 together with a cursor, as generated clients send it: the page is dropped", () => {
    expect(ListOrdersQuery.parse({ cursor, page: "1" })).toEqual(valid);
    expect(pageStart("orders", ListOrdersQuery.parse({ cursor, page: "1" })).page).toBe(2);
  });

  it("with a cursor and another page is invalid", () => {
    const { error } = ListOrdersQuery.safeParse({ cursor, page: "2" });
    expect(error?.issues.map((issue) => issue.path)).toEqual([["page"]]);
  });

  it("without a cursor keeps its page", () => {
    expect(ListOrdersQuery.parse({ page: "1" })).toMatchObject({ page: 1 });
  });
});

it("a page has at most `limit` records, and a cursor only if another record follows", () => {
  const start = pageStart("orders", { limit: 2 });
  const page = (rows: readonly number[]) => cursorPage("orders", "s", start, { rows, total: 9 }, (row) => [row]);
  expect(page([9, 8]).pagination).toEqual({ page: 1, limit: 2, total: 9, totalPages: 5, nextCursor: null });
  const { rows, pagination } = page([9, 8, 7]);
  expect(rows).toEqual([9, 8]);
  const cursor = pagination.nextCursor ?? "";
  expect(pageStart("orders", { limit: 2, cursor })).toEqual({ page: 2, limit: 2, offset: 0, after: [8] });
});
