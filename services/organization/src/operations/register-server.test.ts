import { randomBytes } from "node:crypto";

import { openPassword } from "@kapi/kernel";
import { serverEntry, TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import type { NewServer } from "../domain/ports.ts";
import { type RegistrationContext, registerServer } from "./register-server.ts";

const KEYS = { currentKeyId: "k1", keys: new Map([["k1", randomBytes(32)]]) };
const { organizationId, configuration } = serverEntry();

/** What would be stored. */
function contextWith(allowInsecure: boolean): { context: RegistrationContext; stored: NewServer[] } {
  const stored: NewServer[] = [];
  const upsertServer = (server: NewServer) => {
    stored.push(server);
    return Promise.resolve(serverEntry(server));
  };
  const store = {
    organizationExists: () => Promise.resolve(true),
    transaction: (work: (tx: { upsertServer: typeof upsertServer }) => unknown) => work({ upsertServer }),
  };
  const context = {
    store,
    clock: new TestClock(),
    publish: () => Promise.resolve(),
    tradingServers: { keys: KEYS, allowInsecure },
  };
  return { context: context as unknown as RegistrationContext, stored };
}

describe("registerServer", () => {
  it("takes https alone, unless http is allowed", async () => {
    const wanted = { organizationId, configuration, tradingServerUrl: "http://trading.example.com" };
    const refused = contextWith(false);
    await expect(registerServer(refused.context, wanted)).rejects.toMatchObject({
      status: 400,
      issues: [{ path: ["tradingServerUrl"], message: "The address must begin with https://" }],
    });
    expect(refused.stored).toEqual([]);
    const allowed = contextWith(true);
    await registerServer(allowed.context, wanted);
    expect(allowed.stored).toHaveLength(1);
  });

  it("stores the server's token sealed for this server alone", async () => {
    const { context, stored } = contextWith(false);
    const token = "the token of one server";
    const wanted = { organizationId, configuration, tradingServerUrl: "https://trading.example.com" };
    const { serverId } = await registerServer(context, { ...wanted, tradingServerToken: token });
    expect(JSON.stringify(stored)).not.toContain(token);
    const { sealedToken } = stored[0] ?? {};
    if (sealedToken === undefined) throw new Error("no token was stored");
    expect(openPassword(KEYS, serverId, sealedToken)).toBe(token);
    expect(() => openPassword(KEYS, organizationId, sealedToken)).toThrow();
  });
});
