import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { RedisConnection } from "@kapi/redis";
import {
  type AdmitReply,
  type AdmitRequest,
  admit,
  admitAll,
  bucketKey,
  ADMISSION_SETTINGS,
  chargeKey,
  recordKey,
  metaKey,
  reservedKey,
  revokeKey,
  settledKey,
  shardOf,
  usageKey,
  walletKey,
} from "../src/redis/index.ts";
import { record, connectEmpty, organizationWith, request, reserve, usageOf, walletOf } from "./support.ts";

const CREDITS = 30;
/** A fixed seed: the requests that it generates have all outcomes that the first test expects. */
const SEED = 7;
const MAX_REQUESTS = 20;
/** So slow that no token is added during a test. */
const RATE_LIMIT = { perSecond: 0.0001, burst: 2 };

let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, stop } = await connectEmpty());
});
afterAll(() => stop());

/** Organizations that share a shard, each with credits. */
async function ofOneShard(count: number): Promise<string[]> {
  const ids = [randomUUID()];
  while (ids.length < count) {
    const id = randomUUID();
    if (shardOf(id) === shardOf(ids[0] ?? "")) ids.push(id);
  }
  return Promise.all(ids.map((id) => organizationWith(redis, CREDITS, id)));
}

/**
 * A generated request. Organization, key and commands are indexes into {@link TestOrganizations}.
 */
interface Draft {
  readonly organization: number;
  readonly key: number;
  /** If set, an earlier request is sent again, with its charge id. */
  readonly repeats: number | null;
  readonly price: number;
  readonly commands: readonly number[];
  readonly otherBody: boolean;
  readonly isKnown: boolean;
}

const draft: fc.Arbitrary<Draft> = fc.record({
  organization: fc.nat(1),
  key: fc.nat(3),
  repeats: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(MAX_REQUESTS) }),
  price: fc.nat(6),
  commands: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
  otherBody: fc.nat(3).map((value) => value === 0),
  isKnown: fc.nat(5).map((value) => value === 0),
});

const drafts = fc.array(draft, { minLength: 1, maxLength: MAX_REQUESTS, size: "max" });
/** A record stays open during a test, or is reclaimed by the next equal request. */
const recordOpenMs = fc.constantFrom(ADMISSION_SETTINGS.recordOpenMs, 0);

/** Two organizations of one shard. Of their keys, one is revoked and one has a low rate limit. */
class TestOrganizations {
  readonly #organizations: readonly string[];
  readonly #keys = ["a", "b", "rate-limited", "revoked"].map((name) => `${name}-${randomUUID()}`);
  readonly #charges = Array.from({ length: MAX_REQUESTS }, () => randomUUID());
  readonly #commands = Array.from({ length: 20 }, () => randomUUID());

  constructor(organizations: readonly string[]) {
    this.#organizations = organizations;
  }

  revoke(): Promise<void> {
    return revokeKey(redis, this.#organizations[0] ?? "", this.#keys[3] ?? "");
  }

  /** The requests of `drafts`; a repeat is an earlier request. */
  requestsOf(drafts: readonly Draft[]): AdmitRequest[] {
    const requests: AdmitRequest[] = [];
    for (const one of drafts) {
      const earlier = one.repeats === null ? undefined : requests[one.repeats % Math.max(requests.length, 1)];
      requests.push(earlier ?? this.#requestOf(one, this.#charges[requests.length] ?? ""));
    }
    return requests;
  }

  #requestOf({ organization, key, price, commands, otherBody, isKnown }: Draft, chargeId: string): AdmitRequest {
    const records = commands.map((command) =>
      record({
        commandId: this.#commands[organization * 10 + command] ?? "",
        fingerprint: otherBody ? "other" : "print",
        message: `message ${command}`,
      }),
    );
    const changes: Partial<AdmitRequest> = {
      callerName: this.#keys[key] ?? "",
      chargeId,
      price,
      rateLimit: key === 2 ? RATE_LIMIT : null,
      knownDuplicates: records.map(() => isKnown),
    };
    const organizationId = this.#organizations[organization] ?? "";
    return records.length === 0 ? request(organizationId, changes) : reserve(organizationId, records, changes);
  }

  /** The resulting state, without ids and times. */
  async state(): Promise<unknown> {
    return Promise.all(
      this.#organizations.map(async (organizationId) => {
        const { available, reserved, consumed, purchased } = await walletOf(redis, organizationId);
        const usage = await usageOf(redis, organizationId);
        const places: string[] = [...this.#charges, ...this.#commands];
        const entries = usage.map(({ kind, credits, chargeId }) => [kind, credits, places.indexOf(chargeId)]);
        return { available, reserved, consumed, purchased, entries };
      }),
    );
  }
}

/** A reply without ids and times. */
function comparable(reply: AdmitReply | undefined): unknown {
  if (reply?.kind === "limited") return reply.kind;
  if (reply?.kind !== "admitted") return reply;
  const { available, reserved, consumed, purchased } = reply.wallet;
  const records = reply.records.map((outcome) => (outcome.kind === "open" ? outcome.kind : outcome));
  return { charged: reply.charged, available, reserved, consumed, purchased, records };
}

test("requests in one call are answered, charged and recorded as if each had its own call", async () => {
  const kinds = new Set<string>();
  await fc.assert(
    fc.asyncProperty(drafts, recordOpenMs, async (wanted, openMs) => {
      const settings = { ...ADMISSION_SETTINGS, recordOpenMs: openMs };
      const organizations = await ofOneShard(4);
      const [batched, alone] = [
        new TestOrganizations(organizations.slice(0, 2)),
        new TestOrganizations(organizations.slice(2)),
      ];
      await Promise.all([batched.revoke(), alone.revoke()]);
      const replies = await admitAll(redis, shardOf(organizations[0] ?? ""), batched.requestsOf(wanted), settings);
      for (const [index, one] of alone.requestsOf(wanted).entries()) {
        const reply = await admit(redis, one, settings);
        expect(comparable(replies[index])).toEqual(comparable(reply));
        if (reply.kind !== "admitted") kinds.add(reply.kind);
        else for (const outcome of reply.records) kinds.add(outcome.kind);
      }
      expect(await batched.state()).toEqual(await alone.state());
    }),
    { numRuns: 60, seed: SEED },
  );
  // The compared requests had all these outcomes.
  expect(kinds).toEqual(
    new Set(["unpaid", "revoked", "limited", "created", "reclaimed", "duplicate", "open", "mismatch", "skipped"]),
  );
});

test("if the usage stream has room only for the first requests of a call, the later requests are answered as unsynced and cost nothing", async () => {
  const organizationId = await organizationWith(redis, CREDITS);
  await redis.commands.xtrim(usageKey(shardOf(organizationId)), "MAXLEN", 0);
  const settings = { ...ADMISSION_SETTINGS, usageStreamLimit: 3 };
  const calls = Array.from({ length: 5 }, () => request(organizationId));
  const replies = await admitAll(redis, shardOf(organizationId), calls, settings);
  expect(replies.map(({ kind }) => kind)).toEqual(["admitted", "admitted", "admitted", "unsynced", "unsynced"]);
  expect((await walletOf(redis, organizationId)).available).toBe(CREDITS - 3);
});

test("a call with an organization of another shard is rejected", async () => {
  const organizationId = await organizationWith(redis, CREDITS);
  const otherShard = (shardOf(organizationId) + 1) % 64;
  await expect(admitAll(redis, otherShard, [request(organizationId)])).rejects.toThrow("more than one shard");
});

test("a process of the previous release can still call kapi_admit", async () => {
  const organizationId = await organizationWith(redis, CREDITS);
  const shard = shardOf(organizationId);
  const [keyId, commandId] = [randomUUID(), randomUUID()];
  const call = (chargeId: string, mode: string, price: number): Promise<unknown> => {
    const keys = [
      metaKey(shard),
      walletKey(shard, organizationId),
      bucketKey(shard, keyId),
      chargeKey(shard, chargeId),
    ];
    const args = [keyId, organizationId, chargeId, mode, price, 1, "operation", "request", 1, 10];
    const limits = [ADMISSION_SETTINGS.recordOpenMs, 60_000, 60_000, ADMISSION_SETTINGS.usageStreamLimit];
    const records = mode === "reserve" ? [commandId, "print", "message", 5, "0"] : [];
    return redis.call(
      "kapi_admit",
      [
        ...keys,
        usageKey(shard),
        reservedKey(shard, organizationId),
        ...(records.length > 0 ? [recordKey(shard, commandId), settledKey(shard, commandId)] : []),
      ],
      [...args, ...limits, ...records, "00-trace"],
    );
  };
  const before = await walletOf(redis, organizationId);
  const wallet = (available: number, reserved: number, consumed: number): unknown[] =>
    [before.id, available, reserved, consumed, CREDITS, 0, before.createdAtMs].map(String).concat(expect.any(String));
  expect(await call(randomUUID(), "consume", 2)).toEqual(["ADMITTED", 2, wallet(CREDITS - 2, 0, 2), []]);
  const first = randomUUID();
  expect(await call(first, "reserve", 0)).toEqual(["ADMITTED", 5, wallet(CREDITS - 7, 5, 2), [["fresh", null]]]);
  expect(await call(randomUUID(), "reserve", 0)).toEqual([
    "ADMITTED",
    0,
    wallet(CREDITS - 7, 5, 2),
    [["open", expect.any(Number)]],
  ]);
  expect((await usageOf(redis, organizationId)).map(({ kind, traceparent }) => [kind, traceparent])).toEqual([
    ["consume", "00-trace"],
    ["reserve", "00-trace"],
  ]);
});
