/**
 * Sends a webhook receiver the deliveries that it must handle (repeats, forgeries, old and unknown
 * events, events out of order, many at once), and reports its answers.
 */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";

import { Webhook } from "standardwebhooks";

import { connectionFailure } from "../http/transport.ts";

/** How long kapi waits for an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 15_000;
const SECRET_BYTES = 32;
const MINUTE_MS = 60_000;
const DELIVERIES_AT_ONCE = 20;
const LARGE_TEXT_CHARACTERS = 200_000;
/** The organization of all events of the check. No real organization has this id. */
const CHECK_ORGANIZATION_ID = "00000000-0000-0000-0000-000000000000";

/** The receiver to check. It gets events of accounts that do not exist. */
export interface ReceiverCheckOptions {
  /** Address of the receiver. */
  readonly url: string;
  /** The secret that the receiver verifies with, `whsec_…`. */
  readonly secret: string;
}

/** What the receiver should answer. */
export type Expectation = "accept" | "reject";

/** The result of one check. */
export interface ReceiverCheckResult {
  readonly check: string;
  readonly expected: Expectation;
  /** HTTP statuses of the answers; null: no answer in time, or the connection was lost. */
  readonly statuses: readonly (number | null)[];
  readonly durationMs: number;
  readonly passed: boolean;
  /** What the owner of the receiver has to check, because no answer shows it. */
  readonly lookAt?: string;
  /** The problem of the answers, or the reaction of kapi to them; absent if the check passed. */
  readonly problem?: string;
}

interface Delivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Check {
  readonly name: string;
  readonly expected: Expectation;
  readonly deliveries: readonly Delivery[];
  /** Whether the deliveries are sent at the same time. */
  readonly isParallel?: true;
  readonly lookAt?: string;
}

/** The connection of the first delivery failed or was lost. No check was made. */
export class ReceiverUnreachable extends Error {
  constructor(url: string, cause: unknown) {
    const { code, detail } = connectionFailure(cause);
    super(`no connection to ${url}: ${detail === "" ? code : detail}. Is the receiver running?`, { cause });
    this.name = "ReceiverUnreachable";
  }
}

/**
 * Runs all checks in turn. @throws TypeError for an invalid address, or a secret without the
 * prefix `whsec_`; Error for a secret that is not base64; {@link ReceiverUnreachable} if the
 * connection of the first delivery fails or is lost.
 */
export async function checkReceiver({ url, secret }: ReceiverCheckOptions): Promise<ReceiverCheckResult[]> {
  if (!secret.startsWith("whsec_")) throw new TypeError("the secret must begin with whsec_");
  const address = new URL(url);
  const results: ReceiverCheckResult[] = [];
  const [first, ...others] = checksOf(secret);
  assert(first !== undefined, "there are checks");
  results.push(await run(first, (delivery) => send(delivery, address)));
  // The receiver runs. From here on, a lost connection means that it fails at an event.
  const sendAnyway = (delivery: Delivery): Promise<number | null> => send(delivery, address).catch(() => null);
  for (const check of others) results.push(await run(check, sendAnyway));
  return results;
}

async function run(
  { name, expected, deliveries, isParallel, lookAt }: Check,
  deliver: (delivery: Delivery) => Promise<number | null>,
): Promise<ReceiverCheckResult> {
  const startedAtMs = performance.now();
  const statuses: (number | null)[] = [];
  if (isParallel === true) statuses.push(...(await Promise.all(deliveries.map(deliver))));
  else for (const delivery of deliveries) statuses.push(await deliver(delivery));
  const passed = statuses.every((status) => isExpected(status, expected));
  const problem = passed ? undefined : problemOf(expected, statuses);
  const durationMs = Math.round(performance.now() - startedAtMs);
  return {
    check: name,
    expected,
    statuses,
    durationMs,
    passed,
    ...(lookAt === undefined ? {} : { lookAt }),
    ...(problem === undefined ? {} : { problem }),
  };
}

function isExpected(status: number | null, expected: Expectation): boolean {
  if (status === null) return false;
  const isAccepted = status >= 200 && status < 300;
  // A forgery must be rejected with 4xx: 5xx means that the receiver failed.
  return expected === "accept" ? isAccepted : status >= 400 && status < 500;
}

function problemOf(expected: Expectation, statuses: readonly (number | null)[]): string {
  if (expected === "reject")
    return "a delivery with an invalid signature or time must be answered with 4xx, and have no effect";
  if (statuses.includes(null))
    return `no answer within ${ANSWER_TIMEOUT_MS / 1_000} s, or a lost connection: kapi sends the event again`;
  if (statuses.includes(410)) return "410 disables the endpoint";
  if (statuses.some((status) => status !== null && status >= 300 && status < 400)) return "redirects are not followed";
  return "an answer that is not 2xx: kapi sends the event again, up to ten attempts in all";
}

async function send({ body, headers }: Delivery, url: URL): Promise<number | null> {
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "application/json", ...headers },
      body,
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") return null;
    throw new ReceiverUnreachable(url.href, error);
  }
}

function checksOf(secret: string): Check[] {
  const other = `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
  const now = new Date();
  const ago = (minutes: number): Date => new Date(now.getTime() - minutes * MINUTE_MS);
  const first = signed(event(1), secret);
  const unsigned = { body: first.body, headers: {} };
  const forged = { ...signed(event(2), secret), body: eventText(event(2), { openPositionCount: 7 }) };
  const account = randomUUID().slice(0, 8);
  return [
    { name: "a valid event", expected: "accept", deliveries: [first] },
    {
      name: "the same event again",
      expected: "accept",
      deliveries: [first, first],
      lookAt: `event ${first.headers["webhook-id"]} must have had its effect once, although it came three times`,
    },
    { name: "no signature", expected: "reject", deliveries: [unsigned] },
    { name: "a body that was changed", expected: "reject", deliveries: [forged] },
    { name: "the signature of another secret", expected: "reject", deliveries: [signed(event(3), other)] },
    {
      name: "a signature that is not base64",
      expected: "reject",
      deliveries: [withSignature(signed(event(3), secret), "v1,!!")],
    },
    {
      name: "two signatures, as after a rotation",
      expected: "accept",
      deliveries: [bothSigned(event(4), other, secret)],
    },
    { name: "a delivery of ten minutes ago", expected: "reject", deliveries: [signed(event(5), secret, ago(10))] },
    { name: "a delivery of the future", expected: "reject", deliveries: [signed(event(5), secret, ago(-10))] },
    {
      name: "events out of order",
      expected: "accept",
      deliveries: [signed(event(7, account), secret), signed(event(6, account), secret)],
      lookAt: `the state of account ${account} must be that of accountSequence 7`,
    },
    {
      name: "a kind that does not exist yet",
      expected: "accept",
      deliveries: [signed({ ...event(8), type: "later.kind" }, secret)],
    },
    {
      name: "fields that do not exist yet",
      expected: "accept",
      deliveries: [signed({ ...event(9), later: { field: true } }, secret)],
    },
    {
      name: "a large event",
      expected: "accept",
      deliveries: [signed({ ...event(10), padding: "x".repeat(LARGE_TEXT_CHARACTERS) }, secret)],
    },
    {
      name: `${DELIVERIES_AT_ONCE} events at once`,
      expected: "accept",
      deliveries: Array.from({ length: DELIVERIES_AT_ONCE }, (_each, index) => signed(event(11 + index), secret)),
      isParallel: true,
    },
  ];
}

/** A closed position of an account that does not exist. */
function event(accountSequence: number, accountNumber = "00000000") {
  const at = new Date().toISOString();
  return {
    type: "position.closed",
    timestamp: at,
    data: {
      eventId: randomUUID(),
      organizationId: CHECK_ORGANIZATION_ID,
      serverId: randomUUID(),
      accountNumber,
      accountSequence,
      id: randomUUID(),
      orderId: randomUUID(),
      symbol: "EURUSD",
      side: "buy",
      volume: 0.1,
      closedVolume: 0.1,
      openPrice: 1.1,
      status: "closed",
      openedAt: at,
      closedAt: at,
      dealIds: [],
      openPositionCount: 0,
    },
  };
}

type CheckEvent = ReturnType<typeof event>;

function eventText(value: CheckEvent, changes: object): string {
  return JSON.stringify({ ...value, data: { ...value.data, ...changes } });
}

function signed(value: CheckEvent & Readonly<Record<string, unknown>>, secret: string, at = new Date()): Delivery {
  const body = JSON.stringify(value);
  const id = value.data.eventId;
  return {
    body,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    },
  };
}

function withSignature({ body, headers }: Delivery, signature: string): Delivery {
  return { body, headers: { ...headers, "webhook-signature": signature } };
}

function bothSigned(value: CheckEvent, newSecret: string, oldSecret: string): Delivery {
  const at = new Date();
  const signatures = [newSecret, oldSecret].map((secret) => signed(value, secret, at).headers["webhook-signature"]);
  return withSignature(signed(value, oldSecret, at), signatures.join(" "));
}
