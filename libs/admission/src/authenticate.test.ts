import type { KeyEntry } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { keyEntry, serverEntry, TestClock } from "@kapi/testkit";
import { expect, test } from "vitest";

import { authenticate } from "./authenticate.ts";
import { authorize } from "./authorize.ts";

const clock = new TestClock();
const ORGANIZATION = "0197a000-0000-7000-8000-000000000001";

function directoryOf(...keys: KeyEntry[]) {
  return { key: (keyId: string) => keys.find((entry) => entry.keyId === keyId) };
}

function errorOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("the key in the header authenticates the caller, in any letter case of the scheme", () => {
  const { entry, managementKey } = keyEntry();
  for (const scheme of ["Management", "management", "MANAGEMENT"]) {
    expect(authenticate(directoryOf(entry), clock, `${scheme} ${managementKey}`)).toBe(entry);
  }
});

test("missing, malformed, unknown, wrong, revoked and expired keys get the same error", () => {
  const { entry, managementKey } = keyEntry();
  const [, keyId, secret = ""] = managementKey.split(".");
  const wrong = `kapi.${keyId}.${secret.startsWith("A") ? "B" : "A"}${secret.slice(1)}`;
  const cases: [KeyEntry[], string | undefined][] = [
    [[entry], undefined],
    [[entry], ""],
    [[entry], managementKey],
    [[entry], `Bearer ${managementKey}`],
    [[entry], `Management ${managementKey}x`],
    [[entry], `Management ${managementKey} ${managementKey}`],
    [[entry], `Management ${managementKey.replace("kapi", "KAPI")}`],
    [[entry], `Management ${wrong}`],
    [[], `Management ${managementKey}`],
    [[{ ...entry, status: "revoked" }], `Management ${managementKey}`],
    [[{ ...entry, expiresAt: toIso(clock.nowMs()) }], `Management ${managementKey}`],
  ];
  for (const [keys, header] of cases) {
    const error = errorOf(() => authenticate(directoryOf(...keys), clock, header));
    expect(error, header).toMatchObject({
      code: "AUTHENTICATION_REQUIRED",
      status: 401,
      message: "Management API authentication required",
    });
  }
  const later = { ...entry, expiresAt: toIso(clock.nowMs() + 1) };
  expect(authenticate(directoryOf(later), clock, `Management ${managementKey}`)).toBe(later);
});

test("the scope is checked before the server, and the error names the missing scope or server", () => {
  const server = serverEntry({ organizationId: ORGANIZATION });
  const directory = { server: (serverId: string) => (serverId === server.serverId ? server : undefined) };
  const { entry } = keyEntry({ organizationId: ORGANIZATION, scopes: ["accounts:read"] });
  expect(authorize(entry, "accounts:read", directory)).toBeUndefined();
  expect(authorize(entry, "accounts:read", directory, server.serverId)).toBe(server);
  expect(errorOf(() => authorize(entry, "finance:deposit", directory, "elsewhere"))).toMatchObject({
    status: 403,
    message: "Missing API scope: finance:deposit",
  });
  expect(errorOf(() => authorize(entry, "accounts:read", directory, "elsewhere"))).toMatchObject({
    status: 403,
    message: "Missing server access: elsewhere",
  });
});

test("a server of another organization or outside the key's list is rejected; a removed server is rejected unless `allowRemoved` is set", () => {
  const server = serverEntry({ organizationId: ORGANIZATION });
  const reach = (found: typeof server, key: Partial<KeyEntry>, allowRemoved = false): unknown =>
    errorOf(() =>
      authorize(
        keyEntry({ organizationId: ORGANIZATION, ...key }).entry,
        "accounts:read",
        { server: () => found },
        found.serverId,
        { allowRemoved },
      ),
    );
  expect(reach(serverEntry(), {})).toMatchObject({ status: 403 });
  expect(reach(server, { serverIds: [] })).toMatchObject({ status: 403 });
  expect(reach(server, { serverIds: [server.serverId] })).toBeUndefined();
  expect(reach({ ...server, status: "removed" }, {})).toMatchObject({ status: 403 });
  expect(reach({ ...server, status: "removed" }, {}, true)).toBeUndefined();
});
