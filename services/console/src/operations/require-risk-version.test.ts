import { randomUUID } from "node:crypto";

import { personIdempotencyKey } from "@kapi/contracts";
import { commandIdOf } from "@kapi/kernel";
import { expect, it } from "vitest";

import type { Directory } from "../domain/ports.ts";
import { requireRulesVersion, requireTemplateVersion } from "./require-risk-version.ts";

const ACCOUNT = { serverId: randomUUID(), accountNumber: "10000001" };
const PERSON = { organizationId: randomUUID(), userId: randomUUID(), idempotencyKey: randomUUID() };
const OWN_COMMAND = commandIdOf(PERSON.organizationId, personIdempotencyKey(PERSON.userId, PERSON.idempotencyKey));

function bodyOf(name: string, value: object): Promise<Buffer> {
  return Promise.resolve(Buffer.from(JSON.stringify({ [name]: value })));
}

/** Calls `requireRulesVersion` for rules whose newest version is `version`. */
function compareRules(version: number, expectedVersion: number, commandId = randomUUID() as string): Promise<void> {
  const rules = { ...ACCOUNT, version, rules: [], commandId, activeFrom: "2026-11-27T00:00:00.000Z", template: null };
  const risk = { rules: () => bodyOf("riskRules", rules), template: () => Promise.resolve(null) };
  return requireRulesVersion({ directory: {} as Directory, risk }, ACCOUNT, { ...PERSON, expectedVersion });
}

it("a change that is based on an older version of the rules is rejected, and the error names the newest version", async () => {
  await expect(compareRules(4, 4)).resolves.toBeUndefined();
  await expect(compareRules(5, 4)).rejects.toMatchObject({
    code: "VERSION_CHANGED",
    status: 409,
    message: "The rules were changed by somebody else: the current version is 5. Reload and try again",
  });
});

it("a repeat of the change that made the newest version is accepted", async () => {
  await expect(compareRules(5, 4, OWN_COMMAND)).resolves.toBeUndefined();
});

it("creating a template whose name is taken, and changing a template that somebody else deleted, have different errors", async () => {
  const template = {
    serverId: ACCOUNT.serverId,
    name: "standard",
    version: 3,
    rules: [],
    appliesTo: { status: ["active"] },
    newAccounts: true,
    commandId: randomUUID(),
    createdAt: "2026-11-27T00:00:00.000Z",
    updatedAt: "2026-11-27T00:00:00.000Z",
    progress: "applied",
    accounts: { applied: 0, waiting: 0, failed: 0 },
  };
  const compare = (body: Promise<Buffer | null>, expectedVersion: number): Promise<void> => {
    const risk = { rules: () => bodyOf("riskRules", {}), template: () => body };
    const named = { serverId: ACCOUNT.serverId, templateName: "standard" };
    return requireTemplateVersion({ directory: {} as Directory, risk }, named, { ...PERSON, expectedVersion });
  };
  await expect(compare(Promise.resolve(null), 0)).resolves.toBeUndefined();
  await expect(compare(bodyOf("riskTemplate", template), 3)).resolves.toBeUndefined();
  await expect(compare(bodyOf("riskTemplate", template), 0)).rejects.toThrow(
    "The template was already created, in version 3",
  );
  await expect(compare(Promise.resolve(null), 3)).rejects.toThrow("The template was deleted by somebody else");
});
