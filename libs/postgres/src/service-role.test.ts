import type { Client } from "pg";
import { expect, it } from "vitest";

import { grantRows } from "./service-role.ts";

it("takes the rights to change append-only tables back after the grant, in the same transaction", async () => {
  const asked: string[] = [];
  const client = { query: (text: string) => Promise.resolve(void asked.push(text)) } as unknown as Client;
  await grantRows(client, "organization", "service", ["audit_log"]);
  expect(asked).toHaveLength(1);
  const statements = asked[0]?.split(";\n") ?? [];
  const granted = statements.indexOf(
    "grant select, insert, update, delete on all tables in schema organization to service",
  );
  const revoked = statements.indexOf("revoke update, delete, truncate on organization.audit_log from service");
  expect([statements[0], statements.at(-1)]).toEqual(["begin", "commit"]);
  expect(granted).toBeGreaterThan(0);
  expect(revoked).toBeGreaterThan(granted);
  await expect(grantRows(client, "organization", "service", ["audit_log; drop"])).rejects.toThrow();
});
