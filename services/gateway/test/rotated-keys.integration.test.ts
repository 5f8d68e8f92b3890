import { randomBytes, randomUUID } from "node:crypto";

import type { CommandEnvelope } from "@kapi/contracts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Answer, call, create, createdAccount, getCommand } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

const NEWER = `newer:${randomBytes(32).toString("base64")}`;
const RESETS = [
  ["password-reset", "trading"],
  ["investor-password-reset", "investor"],
] as const;

let platform: Platform;
let organization: Organization;
/** The URL of a gateway whose list of derivation keys has the new key first, then the old key. */
let rotated: string;

// The account service executes the commands of both gateways. It has the new and the old key.
beforeAll(async () => {
  platform = await startPlatform([], withNewer);
  organization = await platform.organization(100_000);
  rotated = await platform.gateway(withNewer(platform.environment.env));
});
afterAll(() => platform.stop());

function withNewer(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { PASSWORD_DERIVATION_KEYS: `${NEWER},${env["PASSWORD_DERIVATION_KEYS"]}` };
}

/**
 * Logs in on the trading server. Returns `trading` or `investor`, by the kind of the password; null
 * if the password is wrong.
 */
async function login(accountNumber: string, password: string | undefined): Promise<string | null> {
  const path = `control/v1/servers/${organization.server.serverId}/accounts/${accountNumber}/login`;
  const answer = await fetch(`${platform.neighbour("trading-simulator")}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ password }),
  });
  return answer.status === 200 ? ((await answer.json()) as { access: string }).access : null;
}

function reset(url: string, accountNumber: string, path: string, key: string): Promise<Answer<CommandEnvelope>> {
  return call(url, organization, `servers/${organization.server.serverId}/accounts/${accountNumber}/${path}`, {
    body: { requestId: "r" },
    headers: { "idempotency-key": key },
  });
}

describe("a rotation of password derivation keys", () => {
  it("between the 202 of a creation and its execution changes neither password", async () => {
    const { body } = await create(platform.url, organization, randomUUID());
    const { command } = (await getCommand(platform.url, organization, body.command.id, 20)).body;
    const accountNumber = String(command.result?.["accountNumber"]);
    expect(await login(accountNumber, body.credentials?.tradingPassword)).toBe("trading");
    expect(await login(accountNumber, body.credentials?.investorPassword)).toBe("investor");
  });

  it.each(RESETS)("before the repeat of a %s: the repeat shows the password that was set", async (path, access) => {
    const accountNumber = await createdAccount(platform.url, organization);
    const key = randomUUID();
    const first = await reset(platform.url, accountNumber, path, key);
    expect(first.status).toBe(202);
    const { password } = first.body;
    // The first repeat finds the idempotency record; after the reset only command-status answers.
    expect(await reset(rotated, accountNumber, path, key)).toMatchObject({ status: 200, body: { password } });
    await getCommand(platform.url, organization, first.body.command.id, 20);
    expect(await reset(rotated, accountNumber, path, key)).toMatchObject({ status: 200, body: { password } });
    expect(await login(accountNumber, password)).toBe(access);
  });

  it("is followed by resets whose password works, and whose command does not name the derivation key", async () => {
    const accountNumber = await createdAccount(rotated, organization);
    const { body } = await reset(rotated, accountNumber, "password-reset", randomUUID());
    await getCommand(rotated, organization, body.command.id, 20);
    expect(await login(accountNumber, body.password)).toBe("trading");
    expect(JSON.stringify(body.command)).not.toContain("newer");
  });
});
