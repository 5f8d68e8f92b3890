/** Endpoint management and rejected URLs, to which no connection is made. */
import { randomUUID } from "node:crypto";
import type { LookupAddress } from "node:dns";

import {
  AuditEvent,
  AuditOutboxAnswer,
  MAX_LISTED_DELIVERIES,
  MAX_WEBHOOK_ENDPOINTS,
  WebhookDeliveriesAnswer,
  WebhookSecretAnswer,
} from "@kapi/contracts";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { MAX_SAVES_PER_ORGANIZATION } from "../src/service.ts";
import { Receiver } from "./receiver.ts";
import { Harness } from "./harness.ts";

const PUBLIC = "93.184.215.14";
const NAME = "hooks.receiver.example";
const HOOK = `https://${NAME}/hook`;

let harness: Harness;
let receiver: Receiver;
/** A look-up of a name with this suffix never ends. */
const SILENT = ".silent.example";
/** Current addresses by name. */
const names = new Map<string, string[]>();

beforeAll(async () => {
  receiver = await Receiver.start();
  const resolve = (name: string): Promise<LookupAddress[]> => {
    if (name.endsWith(SILENT)) return new Promise(() => undefined);
    const addresses = names.get(name);
    if (addresses === undefined) return Promise.reject(new Error(`getaddrinfo ENOTFOUND ${name}`));
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
  };
  const env = { WEBHOOK_ALLOW_INSECURE: "false", WEBHOOK_ALLOWED_PORTS: `443,${receiver.port}` };
  harness = await Harness.start(env, { resolve });
  names.set(NAME, [PUBLIC]);
});
afterAll(async () => {
  await harness.stop();
  await receiver.stop();
});

/** Runs queries on the service's database. */
async function inDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const logger = createLogger({ service: "test", level: "error" });
  const connectionString = harness.environment.postgresUrl;
  const database = await startPool({ connectionString, schema: "webhooks", applicationName: "test", logger });
  try {
    return await work(database.value);
  } finally {
    await database.stop();
  }
}

const create = (body: object) => harness.call("POST", "/webhooks", body);

describe("a non-public address", () => {
  it.each([
    ["https://127.0.0.1:PORT/", "127.0.0.1 is not a public address"],
    ["https://2130706433:PORT/", "127.0.0.1 is not a public address"],
    ["https://0x7f000001:PORT/", "127.0.0.1 is not a public address"],
    ["https://0177.0.0.1:PORT/", "127.0.0.1 is not a public address"],
    ["https://127.1:PORT/", "127.0.0.1 is not a public address"],
    ["https://[::ffff:127.0.0.1]:PORT/", "::ffff:7f00:1 is not a public address"],
    ["https://[64:ff9b::7f00:1]:PORT/", "64:ff9b::7f00:1 is not a public address"],
    ["https://017700000001:PORT/", "127.0.0.1 is not a public address"],
    ["https://%31%32%37.0.0.1:PORT/", "127.0.0.1 is not a public address"],
    ["https://[2002:7f00:1::]:PORT/", "2002:7f00:1:: is not a public address"],
    ["https://[::1]:PORT/", "::1 is not a public address"],
    ["https://localhost:PORT/", "localhost is not a public name"],
    ["https://kafka:PORT/", "kafka is not a public name"],
    ["https://server.internal:PORT/", "server.internal is not a public name"],
    ["https://user:word@hooks.receiver.example:PORT/", "it has user information"],
    ["http://hooks.receiver.example:PORT/", "it is not https"],
    ["https://hooks.receiver.example:8080/", "port 8080 is not allowed"],
    ["https://nowhere.example/", "nowhere.example does not resolve to public addresses"],
  ])("%s is rejected on save, with the reason: %s", async (spelled, reason) => {
    const url = spelled.replace("PORT", String(receiver.port));
    const answer = await create({ url });
    expect(answer).toMatchObject({
      status: 400,
      code: "WEBHOOK_URL_REFUSED",
      body: { error: `The address cannot be used: ${reason}`, issues: [{ path: ["url"], message: reason }] },
    });
  });

  it("behind a name is rejected on save, even as one of several addresses", async () => {
    names.set("rebinding.example", [PUBLIC, "10.0.0.7"]);
    // The error does not reveal the private address.
    const reason = "rebinding.example does not resolve to public addresses";
    expect((await create({ url: "https://rebinding.example/" })).body).toMatchObject({
      error: `The address cannot be used: ${reason}`,
    });
    const { id } = await harness.createEndpoint({ url: HOOK });
    const change = await harness.call("PATCH", `/webhooks/${id}`, { url: "https://rebinding.example/" });
    expect(change).toMatchObject({ status: 400, code: "WEBHOOK_URL_REFUSED" });
    expect(await harness.endpoint(id)).toMatchObject({ url: HOOK });
  });

  it.each(["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "169.254.169.254"])(
    "is rejected on delivery, without a connection, if a name resolves to it only after the save: %s",
    async (address) => {
      const name = `later-${randomUUID()}.example`;
      names.set(name, [PUBLIC]);
      const { id } = await harness.createEndpoint({ url: `https://${name}:${receiver.port}/` });
      names.set(name, [address]);
      await harness.call("POST", `/webhooks/${id}/test`);
      const { attempts, status } = await harness.attempted(id, 1);
      const error = `${name} does not resolve to public addresses`;
      expect(attempts[0]).toMatchObject({ status: null, error });
      expect(status).toBe("pending");
      await harness.call("DELETE", `/webhooks/${id}`);
    },
  );

  it("in a stored URL that the rules forbid is rejected on delivery", async () => {
    const { id } = await harness.createEndpoint({ url: HOOK });
    const put = statement<never>("test_put_url", "update endpoints set url = $2 where id = $1");
    await inDatabase((database) => database.query(put, [id, `http://127.0.0.1:${receiver.port}/`]));
    await harness.call("POST", `/webhooks/${id}/test`);
    const { attempts } = await harness.attempted(id, 1);
    expect(attempts[0]?.error).toBe("the address was rejected: it is not https");
  });

  it("was never connected to in these tests", () => {
    expect(receiver.connections).toBe(0);
  });
});

describe("saves with unresolved names", () => {
  it("are limited per organization, and delay no other organization", async () => {
    const beyond = 4;
    const saves = Array.from({ length: MAX_SAVES_PER_ORGANIZATION + beyond }, (_, index) =>
      create({ url: `https://${index}${SILENT}/` }),
    );
    const refused = await Promise.race(saves);
    expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_CONCURRENT_REQUESTS" });
    const other = `/internal/organizations/${randomUUID()}/webhooks`;
    expect((await harness.client.request("POST", other, { url: HOOK })).status).toBe(201);
    const answers = await Promise.all(saves);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(beyond);
    const late = answers.filter(({ status }) => status !== 429);
    expect(late).toHaveLength(MAX_SAVES_PER_ORGANIZATION);
    for (const one of late) expect(one).toMatchObject({ status: 400, code: "WEBHOOK_URL_REFUSED" });
    const { id } = await harness.createEndpoint({ url: HOOK });
    await harness.call("DELETE", `/webhooks/${id}`);
  });
});

describe("an organization's endpoints", () => {
  it("are listed, read, changed and deleted, and never show the secret again", async () => {
    const { id, secret } = await harness.createEndpoint({ url: HOOK, description: "ours", kinds: ["position.closed"] });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const endpoint = await harness.endpoint(id);
    expect(endpoint).toMatchObject({ url: HOOK, description: "ours", kinds: ["position.closed"], status: "enabled" });
    const changed = await harness.call("PATCH", `/webhooks/${id}`, { kinds: null, status: "disabled" });
    expect(changed).toMatchObject({
      status: 200,
      body: { endpoint: { kinds: null, description: "ours", status: "disabled", disabledReason: "owner" } },
    });
    const list = await harness.call("GET", "/webhooks");
    expect(JSON.stringify([list.body, endpoint, changed.body])).not.toContain("whsec_");
    expect(await harness.call("DELETE", `/webhooks/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } });
    for (const [method, below] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/test"],
      ["GET", "/deliveries"],
    ] as const) {
      expect(await harness.call(method, `/webhooks/${id}${below}`)).toMatchObject({
        status: 404,
        code: "ENDPOINT_NOT_FOUND",
      });
    }
  });

  it("have an audit entry for each change, with the caller and the caller's IP address, but without secrets", async () => {
    const by = { "x-kapi-actor": "key/mfrggzdfmztwq2lk", "x-kapi-address": "203.0.113.7" };
    const url = `${HOOK}/secret-token?key=secret`;
    const made = WebhookSecretAnswer.parse((await harness.call("POST", "/webhooks", { url }, by)).body);
    const { id } = made.endpoint;
    await harness.call("PATCH", `/webhooks/${id}`, { status: "disabled" }, by);
    await harness.call("PATCH", `/webhooks/${randomUUID()}`, { status: "disabled" }, by);
    const rotated = WebhookSecretAnswer.parse(
      (await harness.call("POST", `/webhooks/${id}/rotate-secret`, {}, by)).body,
    );
    await harness.call("DELETE", `/webhooks/${id}`);
    const outbox = async () => {
      const { body } = await harness.client.request("GET", "/internal/audit-outbox");
      const { events } = AuditOutboxAnswer.parse(JSON.parse(body.toString()));
      return events.map((event) => AuditEvent.parse(event)).filter(({ subject }) => subject?.id === id);
    };
    const events = await outbox();
    expect(events.map(({ action, actor, address }) => [action, actor?.id ?? null, address ?? null])).toEqual([
      ["webhook.created", "mfrggzdfmztwq2lk", "203.0.113.7"],
      ["webhook.updated", "mfrggzdfmztwq2lk", "203.0.113.7"],
      ["webhook.secret_rotated", "mfrggzdfmztwq2lk", "203.0.113.7"],
      ["webhook.deleted", null, null],
    ]);
    expect(events[1]?.details).toEqual({ changed: ["status"], status: "disabled" });
    const text = JSON.stringify(events);
    for (const hidden of ["secret-token", "key=secret", made.secret, rotated.secret])
      expect(text).not.toContain(hidden);
    const eventIds = events.map(({ eventId }) => eventId);
    await harness.client.request("POST", "/internal/audit-outbox/recorded", { eventIds });
    expect(await outbox()).toEqual([]);
  });

  it("list and count the newest deliveries up to a limit", async () => {
    const { id } = await harness.createEndpoint({ url: HOOK });
    const put = statement<never>(
      "test_put_deliveries",
      `insert into deliveries (day, id, endpoint_id, organization_id, event_id, type, status, leased, created_at, completed_at)
       select ($3::timestamptz at time zone 'UTC')::date, gen_random_uuid(), $1, $2, gen_random_uuid(), 'webhook.test', 'succeeded', false, $3, $3
       from generate_series(1, $4::integer)`,
    );
    const at = new Date(harness.clock.nowMs()).toISOString();
    await inDatabase((database) => database.query(put, [id, harness.organizationId, at, MAX_LISTED_DELIVERIES + 50]));
    const list = async (page: number) =>
      WebhookDeliveriesAnswer.parse(
        (await harness.call("GET", `/webhooks/${id}/deliveries?limit=100&page=${page}`)).body,
      );
    const [last, beyond] = [await list(MAX_LISTED_DELIVERIES / 100), await list(MAX_LISTED_DELIVERIES / 100 + 1)];
    expect(last.deliveries).toHaveLength(100);
    expect(last.pagination).toMatchObject({ total: MAX_LISTED_DELIVERIES, totalPages: MAX_LISTED_DELIVERIES / 100 });
    expect(beyond.deliveries).toEqual([]);
  });

  it("store their current and previous secrets sealed", async () => {
    const { id, secret } = await harness.createEndpoint({ url: HOOK });
    const rotated = await harness.call("POST", `/webhooks/${id}/rotate-secret`);
    const { secret: fresh } = WebhookSecretAnswer.parse(rotated.body);
    const row = statement<{ row: string }>("test_row", "select endpoints::text as row from endpoints where id = $1");
    const kept = (await inDatabase((database) => database.query(row, [id])))[0]?.row ?? "";
    expect(kept).toContain("ciphertext");
    for (const one of [secret, fresh]) {
      const key = one.replace("whsec_", "");
      for (const form of [key, Buffer.from(one).toString("base64"), Buffer.from(key, "base64").toString("hex")])
        expect(kept).not.toContain(form);
    }
  });

  it("are invisible to other organizations", async () => {
    const { id } = await harness.createEndpoint({ url: HOOK });
    const other = `/internal/organizations/${randomUUID()}/webhooks`;
    expect((await harness.client.request("GET", `${other}/${id}`)).status).toBe(404);
    expect((await harness.client.request("DELETE", `${other}/${id}`)).status).toBe(404);
    expect((await harness.client.request("GET", other)).body.toString()).toBe('{"endpoints":[]}');
  });

  it.each([
    ["an unknown kind", { url: HOOK, kinds: ["position.exploded"] }],
    ["no kind at all", { url: HOOK, kinds: [] }],
    ["a kind twice", { url: HOOK, kinds: ["deal.executed", "deal.executed"] }],
    ["a server id that is not a UUID", { url: HOOK, serverIds: ["x"] }],
    ["no address", {}],
    ["a long address", { url: `https://${NAME}/${"x".repeat(2_048)}` }],
  ])("with %s are 400", async (_what, body) => {
    expect(await create(body)).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
  });

  it(`are limited to ${MAX_WEBHOOK_ENDPOINTS}, even with concurrent creations`, async () => {
    const before = ((await harness.call("GET", "/webhooks")).body as { endpoints: unknown[] }).endpoints.length;
    const answers = await Promise.all(Array.from({ length: MAX_WEBHOOK_ENDPOINTS + 3 }, () => create({ url: HOOK })));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(MAX_WEBHOOK_ENDPOINTS - before);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.every(({ status, code }) => status === 400 && code === "TOO_MANY_ENDPOINTS")).toBe(true);
  });
});
