import type { Client } from "pg";
import { expect, it } from "vitest";

import { grantRows } from "./service-role.ts";

it("grantRows grants rights on all tables, and then revokes the rights to change append-only tables, in one transaction", async () => {
  const asked: string[] = [];
  const query = (text: string): Promise<unknown> => {
    asked.push(text);
    return Promise.resolve({ rows: [{ name: "owner", granter: "owner", usable: true }] });
  };
  const client = { query } as unknown as Client;
  await grantRows(client, "organization", "service", ["audit_log"]);
  const statements = asked[1]?.split(";\n") ?? [];
  const granted = statements.indexOf(
    "grant select, insert, update, delete on all tables in schema organization to service",
  );
  const revoked = statements.indexOf("revoke update, delete, truncate on organization.audit_log from service");
  expect([statements[0], statements.at(-1)]).toEqual(["begin", "commit"]);
  expect(granted).toBeGreaterThan(0);
  expect(revoked).toBeGreaterThan(granted);
  await expect(grantRows(client, "organization", "service", ["audit_log; drop"])).rejects.toThrow();
});
