import { DEFAULT_PRICES, type DirectoryEntry, directoryKey } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { keyEntry, pricesEntry, serverEntry } from "@kapi/testkit";
import { expect, test } from "vitest";

import { createDirectoryState, type DirectoryState } from "./directory.ts";

const logger = createLogger({ service: "test", level: "silent" });

function apply(state: DirectoryState, entry: DirectoryEntry): void {
  state.apply({ key: directoryKey(entry), value: Buffer.from(JSON.stringify(entry)) });
}

test("of several records of a key the highest version wins, in any order of arrival", () => {
  const { entry } = keyEntry({ version: 1 });
  const state = createDirectoryState(logger);
  apply(state, { ...entry, version: 3, status: "revoked" });
  apply(state, entry);
  apply(state, { ...entry, version: 2 });
  expect(state.directory.key(entry.keyId)).toMatchObject({ version: 3, status: "revoked" });
});

test("prices are DEFAULT_PRICES until the operator sets prices", () => {
  const state = createDirectoryState(logger);
  expect(state.directory.prices()).toEqual(DEFAULT_PRICES);
  apply(state, pricesEntry({ prices: { ...DEFAULT_PRICES, read: 3 } }));
  expect(state.directory.prices().read).toBe(3);
});

test("listeners get entries that take effect, and no outdated entries", () => {
  const server = serverEntry({ version: 2 });
  const state = createDirectoryState(logger);
  const heard: DirectoryEntry[] = [];
  const end = state.directory.onChange((entry) => heard.push(entry));
  apply(state, server);
  apply(state, { ...server, version: 1 });
  end();
  apply(state, { ...server, version: 3 });
  expect(heard).toEqual([server]);
  expect([...state.directory.servers()]).toMatchObject([{ version: 3 }]);
});

test("of two records of one version, the record with the server's token wins: release 0.1.0 omits tokens", () => {
  const { sealedToken: _token, ...bare } = serverEntry({ version: 2 });
  const entry = { ...bare, sealedToken: { keyId: "k1", iv: "aXY", ciphertext: "dG9rZW4", tag: "dGFn" } };
  const state = createDirectoryState(logger);
  const heard: DirectoryEntry[] = [];
  state.directory.onChange((changed) => heard.push(changed));
  for (const record of [bare, entry, bare, entry]) apply(state, record);
  expect(state.directory.server(bare.serverId)).toEqual(entry);
  expect(heard).toEqual([bare, entry]);
  // A later version without a token removes the token.
  apply(state, { ...bare, version: 3 });
  expect(state.directory.server(bare.serverId)).toEqual({ ...bare, version: 3 });
});

test("an unreadable record removes its entity, although an older record was readable", () => {
  const { entry } = keyEntry();
  const state = createDirectoryState(logger);
  apply(state, entry);
  const changes: DirectoryEntry[] = [];
  state.directory.onChange((change) => changes.push(change));
  state.apply({ key: directoryKey(entry), value: Buffer.from("{") });
  expect(state.directory.key(entry.keyId)).toBeUndefined();
  // Live sockets of the key are closed.
  expect(changes).toEqual([{ ...entry, status: "revoked" }]);
  const server = serverEntry();
  apply(state, server);
  state.apply({ key: directoryKey(server), value: Buffer.from(JSON.stringify({ ...server, status: "new" })) });
  expect(state.directory.server(server.serverId)).toBeUndefined();
});
