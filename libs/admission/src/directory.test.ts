import { DEFAULT_PRICES, type DirectoryEntry, directoryKey } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { keyEntry, pricesEntry, serverEntry } from "@kapi/testkit";
import { expect, test } from "vitest";

import { createDirectoryState, type DirectoryState } from "./directory.ts";

const logger = createLogger({ service: "test", level: "silent" });

function tell(state: DirectoryState, entry: DirectoryEntry): void {
  state.take({ key: directoryKey(entry), value: Buffer.from(JSON.stringify(entry)) });
}

test("of several records of a key the highest version wins, in whatever order they come", () => {
  const { entry } = keyEntry({ version: 1 });
  const state = createDirectoryState(logger);
  tell(state, { ...entry, version: 3, status: "revoked" });
  tell(state, entry);
  tell(state, { ...entry, version: 2 });
  expect(state.directory.key(entry.keyId)).toMatchObject({ version: 3, status: "revoked" });
});

test("prices are those of the contracts until the operator sets others", () => {
  const state = createDirectoryState(logger);
  expect(state.directory.prices()).toEqual(DEFAULT_PRICES);
  tell(state, pricesEntry({ prices: { ...DEFAULT_PRICES, read: 3 } }));
  expect(state.directory.prices().read).toBe(3);
});

test("who listens hears what comes into force, and nothing that is out of date", () => {
  const server = serverEntry({ version: 2 });
  const state = createDirectoryState(logger);
  const heard: DirectoryEntry[] = [];
  const end = state.directory.onChange((entry) => heard.push(entry));
  tell(state, server);
  tell(state, { ...server, version: 1 });
  end();
  tell(state, { ...server, version: 3 });
  expect(heard).toEqual([server]);
  expect([...state.directory.servers()]).toMatchObject([{ version: 3 }]);
});

test("of two records of one version, the one with the server's token wins: release 0.1.0 leaves it out", () => {
  const { sealedToken: _token, ...bare } = serverEntry({ version: 2 });
  const entry = { ...bare, sealedToken: { keyId: "k1", iv: "aXY", ciphertext: "dG9rZW4", tag: "dGFn" } };
  const state = createDirectoryState(logger);
  const heard: DirectoryEntry[] = [];
  state.directory.onChange((changed) => heard.push(changed));
  for (const told of [bare, entry, bare, entry]) tell(state, told);
  expect(state.directory.server(bare.serverId)).toEqual(entry);
  expect(heard).toEqual([bare, entry]);
  // A later version without a token takes it away.
  tell(state, { ...bare, version: 3 });
  expect(state.directory.server(bare.serverId)).toEqual({ ...bare, version: 3 });
});

test("a record that cannot be understood refuses its entity rather than trust the older one", () => {
  const { entry } = keyEntry();
  const state = createDirectoryState(logger);
  tell(state, entry);
  state.take({ key: directoryKey(entry), value: Buffer.from("{") });
  expect(state.directory.key(entry.keyId)).toBeUndefined();
  const server = serverEntry();
  tell(state, server);
  state.take({ key: directoryKey(server), value: Buffer.from(JSON.stringify({ ...server, status: "new" })) });
  expect(state.directory.server(server.serverId)).toBeUndefined();
});
