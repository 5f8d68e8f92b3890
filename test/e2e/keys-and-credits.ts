/**
 * The keys and credits of the organization service decide which requests the gateway and the live
 * stream accept.
 */
import { createOrganization, type Stack } from "@kapi/local";
import { expect, it } from "vitest";

import { type Demo, type ErrorAnswer, OutsideClient, pause } from "./outside-client.ts";

/** Time limit for a key change to reach every gateway and live socket (decisions, 12). */
const KEY_DEADLINE_MS = 2_000;
/** Time limit until the gateway knows a new key, with tolerance for a busy machine. */
const NEW_KEY_DEADLINE_MS = 10_000;

/** Registers the tests of keys and credits for a running stack and its demo. */
export function describeKeysAndCredits(target: { stack: () => Stack; demo: () => Demo }): void {
  it("a revoked key is 401 at the gateway within two seconds, and its live socket is closed with 4401", async () => {
    const operator = new Operator(target.stack());
    const { keyId, managementKey } = await operator.createKey(target.demo().organizationId, [
      "accounts:read",
      "metrics:read",
    ]);
    const client = new OutsideClient(target.demo()).withKey(managementKey);
    await untilKnown(client);
    const live = await client.live();
    const closed = live.closed();

    await operator.revokeKey(keyId);
    const deadline = Date.now() + KEY_DEADLINE_MS;
    let answer = await client.call<ErrorAnswer>("GET", client.server("/configuration"));
    while (answer.status !== 401 && Date.now() < deadline) {
      await pause(10);
      answer = await client.call<ErrorAnswer>("GET", client.server("/configuration"));
    }
    expect(answer).toMatchObject({ status: 401, body: { error: "Management API authentication required" } });
    expect(await closed).toBe(4401);
  });

  it("a key without the required scope is 403 over HTTP and on the live stream; over HTTP the error names the scope", async () => {
    const operator = new Operator(target.stack());
    const { managementKey } = await operator.createKey(target.demo().organizationId, ["accounts:read"]);
    const client = new OutsideClient(target.demo()).withKey(managementKey);
    await untilKnown(client);
    const answer = await client.createAccount({ nonsense: true });
    expect(answer).toMatchObject({ status: 403, body: { error: "Missing API scope: accounts:create" } });
    await expect(client.live()).rejects.toThrow("403");
  });

  it("another organization's server is 403, and an organization without credits is 402", async () => {
    const stack = target.stack();
    const poor = await createOrganization(stack, { name: "Poor", credits: 0 });
    const client = new OutsideClient({ ...target.demo(), ...poor });
    await untilKnown(client);
    const foreign = await client.call<ErrorAnswer>("GET", `/servers/${target.demo().serverId}/accounts`);
    expect(foreign).toMatchObject({
      status: 403,
      body: { error: `Missing server access: ${target.demo().serverId}` },
    });
    const unpaid = await client.createAccount({ accountName: "", initialBalance: -1 });
    expect(unpaid).toMatchObject({ status: 402, body: { error: "Insufficient API credits" } });
    expect(Object.keys(unpaid.body)).toEqual(["error", "code", "requestId"]);
  });
}

/** Calls the operator's routes of the organization service. */
class Operator {
  readonly #stack: Stack;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  async createKey(
    organizationId: string,
    scopes: readonly string[],
  ): Promise<{ keyId: string; managementKey: string }> {
    const response = await this.#call("POST", `/internal/organizations/${organizationId}/keys`, { scopes });
    return (await response.json()) as { keyId: string; managementKey: string };
  }

  async revokeKey(keyId: string): Promise<void> {
    await this.#call("DELETE", `/internal/keys/${keyId}`);
  }

  async #call(method: string, path: string, body?: object): Promise<Response> {
    const response = await fetch(`${this.#stack.url("organization")}${path}`, {
      method,
      headers: { "content-type": "application/json", "x-service-token": this.#stack.secrets.serviceTokens.operator },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${await response.text()}`);
    return response;
  }
}

/** Waits until the gateway knows a new key. */
async function untilKnown(client: OutsideClient): Promise<void> {
  const deadline = Date.now() + NEW_KEY_DEADLINE_MS;
  for (;;) {
    const { status } = await client.call("GET", client.server("/configuration"));
    if (status !== 401) return;
    if (Date.now() > deadline) throw new Error("the gateway does not know the new key");
    await pause(20);
  }
}
