/** What the operator can list, and the people that the operator makes. */
import { randomUUID } from "node:crypto";

import type { InternalClient } from "@kapi/http";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type ConsoleWorld, type Person, startConsoleWorld } from "./console-world.ts";

let world: ConsoleWorld;
let client: InternalClient;
let person: Person;
let place: string;
beforeAll(async () => {
  world = await startConsoleWorld();
  ({ client } = world);
  person = await world.person({ credits: 30 });
  place = `/internal/organizations/${person.organizationId}`;
});
afterAll(() => world.stop());

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const { status, body: bytes } = await client.request(method, path, body);
  return { status, body: JSON.parse(bytes.toString()) as unknown };
}

test("organizations, people, keys and servers are listed by the page, each list under its own name", async () => {
  const later = await world.person();
  const { body } = await ask("GET", "/internal/organizations?page=1&limit=1");
  expect(body).toEqual({
    organizations: [{ organizationId: later.organizationId, name: "Test", createdAt: expect.any(String) as string }],
    pagination: { page: 1, limit: 1, total: 2, totalPages: 2 },
  });
  const pagination = { page: 1, limit: 20, total: 1, totalPages: 1 };
  const { userId, email, organizationId, serverId } = person;
  expect((await ask("GET", `${place}/users`)).body).toMatchObject({
    users: [{ userId, email, organizationId, name: "Person", disabledAt: null }],
    pagination,
  });
  await ask("POST", `${place}/keys`, { scopes: ["credits:read"], serverIds: [serverId], name: "One server" });
  expect((await ask("GET", `${place}/keys`)).body).toMatchObject({
    keys: [{ name: "One server", serverIds: [serverId], status: "active" }],
    pagination,
  });
  expect((await ask("GET", `${place}/servers`)).body).toMatchObject({
    servers: [{ serverId, organizationId, status: "active", tradingServerUrl: "http://127.0.0.1:1" }],
    pagination,
  });
  expect((await ask("GET", `${place}/users?page=2&limit=1`)).body).toMatchObject({
    users: [],
    pagination: { page: 2 },
  });
  expect((await ask("GET", `${place}/users?limit=0`)).status).toBe(400);
});

test("an organization has at most 100 keys that can be used, however many are made at once; a revoked one makes room", async () => {
  const { organizationId } = await world.person();
  const keys = `/internal/organizations/${organizationId}/keys`;
  const make = (more: object = {}) => ask("POST", keys, { scopes: ["credits:read"], ...more });
  const made = await Promise.all(Array.from({ length: 101 }, () => make()));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(100);
  expect(made.find(({ status }) => status !== 201)).toMatchObject({
    status: 400,
    body: {
      issues: [{ path: [], code: "too_many_keys", message: expect.stringContaining("at most 100 keys") as string }],
    },
  });
  const [{ keyId }] = ((await ask("GET", keys)).body as { keys: [{ keyId: string }] }).keys;
  expect((await ask("DELETE", `/internal/keys/${keyId}`)).status).toBe(200);
  expect((await make()).status).toBe(201);
  expect((await make()).status).toBe(400);
});

test("nothing of a password or of a key's secret is in a list", async () => {
  for (const list of ["users", "keys", "servers"]) {
    const text = (await client.request("GET", `${place}/${list}`)).body.toString();
    expect(text).not.toMatch(/hash|argon2|secret/i);
  }
});

test("the credits are the wallet as it is at this moment", async () => {
  await ask("POST", `${place}/credits`, { credits: 12, purchaseId: randomUUID() });
  await eventually(async () => {
    const { organizationId } = person;
    expect((await ask("GET", `${place}/credits`)).body).toMatchObject({
      wallet: { organizationId, availableCredits: 42, lifetimePurchased: 42 },
    });
  });
});

test("an organization that there is not has no lists, no credits and no people", async () => {
  const nobody = `/internal/organizations/${randomUUID()}`;
  for (const list of ["users", "keys", "servers", "credits"])
    expect((await ask("GET", `${nobody}/${list}`)).status).toBe(404);
  expect((await ask("POST", `${nobody}/users`, { email: "one@example.com", name: "One" })).status).toBe(404);
  const unknown = `/internal/users/${randomUUID()}`;
  expect((await ask("PUT", `${unknown}/password`, {})).status).toBe(404);
  expect((await ask("DELETE", unknown)).status).toBe(404);
});

test("a user's generated password is told once and works; an address belongs to one user, however it is written", async () => {
  const email = `${randomUUID()}@example.com`;
  const made = await ask("POST", `${place}/users`, { email, name: "Generated" });
  expect(made.status).toBe(201);
  const { password } = made.body as { password: string };
  expect(password).toMatch(/^[A-Za-z0-9_-]{24}$/);
  expect((await world.browser().signIn(email, password)).status).toBe(200);
  const again = await ask("POST", `${place}/users`, { email: email.toUpperCase(), name: "Again" });
  expect(again).toMatchObject({ status: 400, body: { issues: [{ path: ["email"] }] } });
  for (const [field, change] of [
    ["email", { email: "no address" }],
    ["name", { name: "" }],
    ["password", { password: "short" }],
  ] as const) {
    const refused = await ask("POST", `${place}/users`, { email: "two@example.com", name: "Two", ...change });
    expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: [field] }] } });
  }
  const known = await ask("POST", `${place}/users`, {
    email: `${randomUUID()}@example.com`,
    name: "Own",
    password: "my own password",
  });
  expect(known.body).not.toHaveProperty("password");
});
