import { randomBytes } from "node:crypto";

import type { ServerEntry } from "@kapi/contracts";
import { type Keyring, sealPassword } from "@kapi/kernel";
import { serverEntry } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import { type AddressOptions, createAddresses } from "./addresses.ts";
import { TradingServerUnreachable } from "./unreachable.ts";

const keyring = (...ids: readonly [string, ...string[]]): Keyring => ({
  currentKeyId: ids[0],
  keys: new Map(ids.map((id) => [id, randomBytes(32)])),
});
const KEYS = keyring("k1");
const TOKEN = "the token of this server alone";

function addressOf(entry: ServerEntry, change: Partial<AddressOptions> = {}) {
  const server = (serverId: string) => (serverId === entry.serverId ? entry : undefined);
  const options = { server, keys: KEYS, sharedToken: undefined, allowInsecure: false, ...change };
  return createAddresses(options);
}

function registered(change: Partial<ServerEntry> = {}): ServerEntry {
  const entry = serverEntry({ tradingServerUrl: "https://trading.example.com" });
  return { ...entry, sealedToken: sealPassword(KEYS, entry.serverId, TOKEN), ...change };
}

describe("the address of a trading server", () => {
  it("has only the token that was sealed for this server", () => {
    const [one, other] = [registered(), registered()];
    expect(addressOf(one)(one.serverId)).toEqual({ url: "https://trading.example.com", token: TOKEN });
    const swapped = { ...one, ...(other.sealedToken === undefined ? {} : { sealedToken: other.sealedToken }) };
    expect(() => addressOf(swapped)(one.serverId)).toThrow(TradingServerUnreachable);
    expect(() => addressOf(one, { keys: keyring("k2") })(one.serverId)).toThrow("cannot be opened");
  });

  it("has the shared token only if the server was registered without a token", () => {
    const { sealedToken: _own, ...bare } = registered();
    expect(addressOf(bare, { sharedToken: "shared" })(bare.serverId)?.token).toBe("shared");
    expect(() => addressOf(bare)(bare.serverId)).toThrow("registered without a token");
    const own = registered();
    expect(addressOf(own, { sharedToken: "shared" })(own.serverId)?.token).toBe(TOKEN);
  });

  it("is https, unless http is allowed", () => {
    const http = registered({ tradingServerUrl: "http://trading.example.com" });
    expect(() => addressOf(http)(http.serverId)).toThrow("does not begin with https://");
    expect(addressOf(http, { allowInsecure: true })(http.serverId)?.token).toBe(TOKEN);
  });

  it("comes from the newest directory entry of the server, and is undefined without an entry", () => {
    let entry = registered();
    const { serverId } = entry;
    const address = createAddresses({
      server: (id) => (id === serverId ? entry : undefined),
      keys: KEYS,
      sharedToken: undefined,
      allowInsecure: false,
    });
    expect(address(serverId)?.token).toBe(TOKEN);
    entry = { ...entry, version: 2, sealedToken: sealPassword(KEYS, serverId, "the next one") };
    expect(address(serverId)?.token).toBe("the next one");
    expect(address("another")).toBeUndefined();
  });
});
