import { randomBytes } from "node:crypto";

import { openPassword } from "@kapi/kernel";
import { serverEntry, TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import type { AuditRecord } from "../../domain/audit.ts";
import type { NewServer } from "../../domain/directory/ports.ts";
import { type RegistrationContext, registerServer } from "./register-server.ts";

const KEYS = { currentKeyId: "k1", keys: new Map([["k1", randomBytes(32)]]) };
const BY = { actor: null, address: null };
const { organizationId, configuration } = serverEntry();

interface Registration {
  readonly context: RegistrationContext;
  /** The servers that were stored, in this order. */
  readonly stored: NewServer[];
  readonly audited: AuditRecord[];
}

/** A directory of one server. */
function contextWith(allowInsecure: boolean): Registration {
  const stored: NewServer[] = [];
  const audited: AuditRecord[] = [];
  const upsertServer = (server: NewServer) => {
    const before = stored.at(-1) ?? null;
    stored.push(server);
    return Promise.resolve({ server: serverEntry({ ...server, version: stored.length }), before });
  };
  const tx = { upsertServer, recordAudit: (records: readonly AuditRecord[]) => void audited.push(...records) };
  const store = {
    organizationExists: () => Promise.resolve(true),
    transaction: (work: (given: typeof tx) => unknown) => work(tx),
  };
  const context = {
    store,
    clock: new TestClock(),
    publish: () => Promise.resolve(),
    tradingServers: { keys: KEYS, allowInsecure },
  };
  return { context: context as unknown as RegistrationContext, stored, audited };
}

describe("registerServer", () => {
  it("accepts only https, unless http is allowed", async () => {
    const wanted = { organizationId, configuration, tradingServerUrl: "http://trading.example.com" };
    const refused = contextWith(false);
    await expect(registerServer(refused.context, wanted, BY)).rejects.toMatchObject({
      status: 400,
      issues: [{ path: ["tradingServerUrl"], message: "The address must begin with https://" }],
    });
    expect(refused.stored).toEqual([]);
    const allowed = contextWith(true);
    await registerServer(allowed.context, wanted, BY);
    expect(allowed.stored).toHaveLength(1);
  });

  it("requires a token for a new address, unless the server has no token", async () => {
    const { context, stored } = contextWith(false);
    const wanted = { organizationId, configuration, tradingServerUrl: "https://trading.example.com" };
    const { serverId } = await registerServer(context, { ...wanted, tradingServerToken: "one" }, BY);
    const moved = { ...wanted, serverId, tradingServerUrl: "https://mistyped.example.com" };
    await expect(registerServer(context, moved, BY)).rejects.toMatchObject({
      status: 400,
      issues: [{ path: ["tradingServerToken"] }],
    });
    await registerServer(context, { ...moved, tradingServerToken: "another" }, BY);
    expect(stored.at(-1)?.tradingServerUrl).toBe("https://mistyped.example.com");
    const shared = contextWith(false);
    const { serverId: without } = await registerServer(shared.context, wanted, BY);
    await registerServer(shared.context, { ...moved, serverId: without }, BY);
    expect(shared.stored).toHaveLength(2);
  });

  it("seals the token for this server only", async () => {
    const { context, stored, audited } = contextWith(false);
    const token = "the token of one server";
    const wanted = { organizationId, configuration, tradingServerUrl: "https://trading.example.com" };
    const { serverId } = await registerServer(context, { ...wanted, tradingServerToken: token }, BY);
    expect(JSON.stringify([stored, audited])).not.toContain(token);
    expect(audited).toMatchObject([{ action: "server.created" }]);
    const { sealedToken } = stored[0] ?? {};
    if (sealedToken === undefined) throw new Error("no token was stored");
    expect(openPassword(KEYS, serverId, sealedToken)).toBe(token);
    expect(() => openPassword(KEYS, organizationId, sealedToken)).toThrow();
  });

  it("writes an audit entry for a registration and each change, also of the token only, but not for a repeat", async () => {
    const { context, audited } = contextWith(false);
    const { serverId } = serverEntry();
    const wanted = { serverId, organizationId, configuration, tradingServerUrl: "https://trading.example.com" };
    const register = async (change: object): Promise<AuditRecord | undefined> => {
      const before = audited.length;
      await registerServer(context, { ...wanted, ...change }, BY);
      return audited[before];
    };
    const same = { name: configuration.serverName, tradingServer: "https://trading.example.com" };
    expect(await register({ tradingServerToken: "one" })).toMatchObject({ action: "server.created", details: same });
    expect(await register({ tradingServerToken: "one" })).toBeUndefined();
    const changed = await register({ tradingServerToken: "another" });
    expect(changed).toMatchObject({ action: "server.updated", details: { ...same, tokenChanged: true } });
    expect(JSON.stringify(audited)).not.toContain("another");
    const moved = await register({ tradingServerUrl: "https://other.example.com", tradingServerToken: "third" });
    expect(moved).toMatchObject({ details: { tradingServer: "https://other.example.com", tokenChanged: true } });
    expect(await register({ tradingServerUrl: "https://other.example.com" })).toBeUndefined();
    const renamed = { ...configuration, serverName: "Renamed" };
    const entry = await register({ tradingServerUrl: "https://other.example.com", configuration: renamed });
    expect(entry?.details).toEqual({ name: "Renamed", tradingServer: "https://other.example.com" });
  });
});
