import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import type { AuditEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { expect, it } from "vitest";

import type { AuditQuery } from "../domain/audit.ts";
import { exportAuditLog } from "./export-audit-log.ts";

const ORGANIZATION = "0199a3a5-0000-7000-8000-000000000001";

function entry(id: number, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: String(id),
    at: "2026-03-01T10:00:00.000Z",
    organizationId: ORGANIZATION,
    action: "key.created",
    actor: { type: "user", id: "u1", name: "one@example.com" },
    address: "192.0.2.1",
    subject: { type: "key", id: "k1" },
    details: {},
    ...more,
  };
}

/** Begins the export of an audit log that has `entries`. */
function begin(entries: readonly AuditEntry[], organizationId = ORGANIZATION) {
  const page = ({ before, limit }: AuditQuery): Promise<AuditEntry[]> =>
    Promise.resolve(entries.filter(({ id }) => before === undefined || Number(id) < Number(before)).slice(0, limit));
  const directory = { keyNames: () => Promise.resolve(new Map([["k1", '=HYPERLINK("x")']])) };
  return exportAuditLog({ auditLog: { page }, directory }, organizationId, {});
}

async function exported(entries: readonly AuditEntry[]): Promise<string[]> {
  const { chunks } = await begin(entries);
  return (await text(Readable.from(chunks))).split("\r\n").slice(0, -1);
}

it("an export has every entry once, over many pages", async () => {
  const entries = Array.from({ length: 250 }, (_, index) => entry(250 - index));
  const [, ...lines] = await exported(entries);
  expect(lines.map((line) => line.split(",")[0])).toEqual(entries.map(({ id }) => id));
});

it("an export escapes formulas in names, and omits address and network details of the operator", async () => {
  const formula = entry(2, { actor: { type: "key", id: "k1", name: null } });
  const operators = entry(1, {
    actor: { type: "operator", id: null, name: null },
    details: { tradingServer: "inside" },
  });
  expect((await exported([formula, operators])).slice(1)).toEqual([
    `2,2026-03-01T10:00:00.000Z,key,k1,"'=HYPERLINK(""x"")",key.created,key,k1,192.0.2.1,`,
    "1,2026-03-01T10:00:00.000Z,operator,,,key.created,key,k1,,",
  ]);
});

it("an export is rejected while two other exports of the organization are not read to their end", async () => {
  const organizationId = randomUUID();
  for (let open = 0; open < 2; open += 1) await begin([entry(1)], organizationId);
  await expect(begin([entry(1)], organizationId)).rejects.toThrow(ApiError);
});
