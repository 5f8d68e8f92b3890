/**
 * `npm run scenario -- ledger-soak`: sends requests for ten minutes without PostgreSQL. Redis
 * charges the requests. When PostgreSQL is back, every charged request must have exactly one usage
 * line, and there must be no other lines. Differences are printed, and the exit code is then 1.
 * `LEDGER_SOAK_MINUTES` (10) and `LEDGER_SOAK_RATE` (300 requests/s) set duration and load.
 */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";

import { createOrganization } from "@kapi/local";
import { TcpProxy } from "@kapi/servers";
import { startTestStack } from "@kapi/local/test-stack";
import { createTestEnvironment, eventually } from "@kapi/testkit";

import startServers from "../../libs/testkit/src/global-setup.ts";
import { CreditReconciliation } from "../properties/credit-reconciliation.ts";

const MINUTES = Number(process.env["LEDGER_SOAK_MINUTES"] ?? 10);
const RATE = Number(process.env["LEDGER_SOAK_RATE"] ?? 300);
const ORGANIZATIONS = 16;
const CREDITS = 1_000_000;
/** How long requests are sent before PostgreSQL becomes unavailable, and again when it is back. */
const AROUND_MS = 10_000;
const TURN_MS = 50;
const MAX_IN_FLIGHT = 128;
/** Credits of a read, and of a rejected mutation. */
const READ_PRICE = 1;
/**
 * One of this many requests is a deposit to a missing account. It is rejected, and free if the
 * gateway cannot check the account.
 */
const DEPOSIT_EVERY = 20;
const PROGRESS_EVERY_MS = 60_000;
const KNOWN_TIMEOUT_MS = 30_000;
const SETTLE_TIMEOUT_MS = 120_000;
const REQUEST_TIMEOUT_MS = 30_000;
const SERVICES = ["account", "command-status", "finance", "gateway", "organization"];

interface Organization {
  readonly organizationId: string;
  readonly managementKey: string;
  readonly serverId: string;
  /** Ids of the requests whose answers reported a charge. */
  readonly charged: Set<string>;
}

const violations: string[] = [];
const answers = new Map<string, number>();

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function check(isRight: boolean, what: string): void {
  if (!isRight) violations.push(what);
}

const stopServers = await startServers();
const environment = await createTestEnvironment();
const { proxy, url: POSTGRES_URL } = await TcpProxy.inFrontOf(environment.postgresUrl);
const cut = Object.fromEntries(SERVICES.map((service) => [service, { POSTGRES_URL }]));
const stack = await startTestStack({ environment, services: [...SERVICES, "trading-simulator"], env: cut });
const reconciliation = await CreditReconciliation.open(stack.servers);

async function send({ managementKey, serverId, charged }: Organization, isDeposit: boolean): Promise<void> {
  const requestId = randomUUID();
  const path = isDeposit ? `/servers/${serverId}/accounts/10000001/finance/deposits` : "/credits/prices";
  const headers: Record<string, string> = { authorization: `Management ${managementKey}`, "x-request-id": requestId };
  if (isDeposit) Object.assign(headers, { "content-type": "application/json", "idempotency-key": requestId });
  const response = await fetch(`${stack.baseUrl}/api/v1/management${path}`, {
    method: isDeposit ? "POST" : "GET",
    headers,
    body: isDeposit ? JSON.stringify({ amount: 1, comment: "", requestId }) : null,
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  await response.text();
  const answer = `${isDeposit ? "deposit" : "read"} ${response.status} ${response.headers.get("x-error-code") ?? ""}`;
  answers.set(answer, (answers.get(answer) ?? 0) + 1);
  const credits = Number(response.headers.get("x-credits-charged"));
  check(credits === (response.status < 500 ? READ_PRICE : 0), `${answer} was charged ${credits}`);
  if (credits > 0) charged.add(requestId);
}

/** Sends requests at RATE for the duration, and waits for all answers. */
async function load(organizations: readonly Organization[], durationMs: number): Promise<void> {
  const beganMs = performance.now();
  const running = new Set<Promise<void>>();
  let sent = 0;
  let printedMs = beganMs;
  for (let nowMs = beganMs; nowMs < beganMs + durationMs; nowMs = performance.now()) {
    for (
      const due = Math.floor(((nowMs - beganMs) * RATE) / 1_000);
      sent < due && running.size < MAX_IN_FLIGHT;
      sent += 1
    ) {
      const organization = organizations[sent % organizations.length];
      if (organization === undefined) break;
      const request = send(organization, sent % DEPOSIT_EVERY === 1)
        .catch((error: unknown) => void violations.push(String(error)))
        .finally(() => running.delete(request));
      running.add(request);
    }
    if (nowMs - printedMs > PROGRESS_EVERY_MS) {
      printedMs = nowMs;
      say(
        `  ${Math.round((nowMs - beganMs) / 60_000)} min: ${sent} requests, ${await reconciliation.underWay()} entries wait for the ledger`,
      );
    }
    await setTimeout(TURN_MS);
  }
  await Promise.all(running);
}

try {
  const organizations: Organization[] = [];
  for (let n = 0; n < ORGANIZATIONS; n += 1) {
    const made = await createOrganization(stack, { name: `Organization ${n}`, credits: CREDITS });
    organizations.push({ ...made, charged: new Set() });
  }
  const { managementKey: last = "" } = organizations.at(-1) ?? {};
  const headers = { authorization: `Management ${last}` };
  await eventually(
    async () => (await fetch(`${stack.baseUrl}/api/v1/management/credits/balance`, { headers })).status === 200,
    { timeoutMs: KNOWN_TIMEOUT_MS },
  );
  await eventually(async () => (await reconciliation.underWay()) === 0);
  const before = await Promise.all(organizations.map(({ organizationId }) => reconciliation.of(organizationId)));

  await load(organizations, AROUND_MS);
  say(`PostgreSQL is unavailable for ${MINUTES} min, at ${RATE} requests/s`);
  await proxy.refuse();
  answers.clear();
  await load(organizations, MINUTES * 60_000);
  const waiting = await reconciliation.underWay();
  say(
    `${[...answers].map(([answer, count]) => `${answer}: ${count}`).join(", ")}; ${waiting} entries wait for the ledger`,
  );
  check(
    [...answers.keys()].every((answer) => answer.startsWith("deposit") || answer === "read 200 "),
    "a read was rejected",
  );
  await proxy.pass();
  const healedMs = performance.now();
  await load(organizations, AROUND_MS);
  await eventually(async () => (await reconciliation.underWay()) === 0, { timeoutMs: SETTLE_TIMEOUT_MS });
  say(
    `all entries are in the ledger, ${((performance.now() - healedMs) / 1_000).toFixed(1)} s after PostgreSQL is back`,
  );

  for (const [index, { organizationId, charged }] of organizations.entries()) {
    const { redis, kept, derived, linesSum } = await reconciliation.of(organizationId);
    const consumed = (before[index]?.kept.consumed ?? 0) + charged.size * READ_PRICE;
    const all = [redis?.consumed, kept.consumed, derived.consumed, linesSum];
    check(
      all.every((sum) => sum === consumed),
      `${organizationId}: ${consumed} credits were charged, but Redis, PostgreSQL, entries and lines have ${all.join(", ")}`,
    );
    check(JSON.stringify([redis, derived]) === JSON.stringify([kept, kept]), `${organizationId}: the wallets differ`);
    const lines = (await reconciliation.lines(organizationId)).map(({ requestId }) => requestId ?? "");
    const found = new Set(lines);
    const missing = [...charged].filter((requestId) => !found.has(requestId)).length;
    check(
      missing === 0 && lines.length === found.size,
      `${organizationId}: ${missing} requests without a line, ${lines.length - found.size} repeated lines`,
    );
  }
  const total = organizations.reduce((sum, { charged }) => sum + charged.size, 0);
  say(`${total} requests charged; ${violations.length} violations`);
  for (const violation of violations.slice(0, 20)) say(`  ${violation}`);
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  await reconciliation.close();
  await stack.stop();
  await proxy.close();
  await environment.stop();
  await stopServers();
}
