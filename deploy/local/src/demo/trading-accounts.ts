import {
  CommandAnswer,
  CommandEnvelope,
  type CreateTradingAccountBody,
  HEADERS,
  OPERATIONS,
  pathOf,
} from "@kapi/contracts";
import { assertDefined, delay } from "@kapi/kernel";

import { LocalError } from "@kapi/servers";
import type { Stack } from "../stack.ts";
import type { ReadyOrganization } from "./operator.ts";

const REQUEST_TIMEOUT_MS = 10_000;
const CREATION_DEADLINE_MS = 30_000;
const POLL_MS = 100;

/** Accounts with automatic trading, so that a new installation shows changing data at once. */
const ACCOUNTS = [
  { accountName: "Ada, majors", initialBalance: 10_000, leverage: 100, symbols: ["EURUSD", "GBPUSD"], volume: 0.1 },
  { accountName: "Bola, gold", initialBalance: 25_000, leverage: 200, symbols: ["XAUUSD"], volume: 0.05 },
  { accountName: "Chen, mixed", initialBalance: 50_000, leverage: 50, symbols: ["EURUSD", "XAUUSD"], volume: 0.2 },
] as const;

/** Market ticks between two trading decisions of an account. */
const EVERY_TICKS = 20;
/** Maximum number of open positions of an account. */
const MAX_POSITIONS = 4;

/**
 * Creates `count` demo accounts (at most three) through the API, switches on automatic trading and
 * returns the account numbers. The idempotency keys are fixed, so a second call returns the same
 * accounts.
 */
export function createTradingAccounts(
  stack: Stack,
  organization: ReadyOrganization,
  count: number = ACCOUNTS.length,
): Promise<string[]> {
  return Promise.all(
    ACCOUNTS.slice(0, count).map(async ({ symbols, volume, ...account }, index) => {
      const accountNumber = await createAccount(stack, organization, account, `demo-account-${index + 1}`);
      const settings = { enabled: true, symbols, volume, everyTicks: EVERY_TICKS, maxPositions: MAX_POSITIONS };
      const place = `/control/v1/servers/${organization.serverId}/accounts/${accountNumber}/auto-trader`;
      await request(stack.tradingServerUrl + place, { method: "PUT", body: settings });
      return accountNumber;
    }),
  );
}

async function createAccount(
  stack: Stack,
  organization: ReadyOrganization,
  account: { readonly accountName: string; readonly initialBalance: number; readonly leverage: number },
  key: string,
): Promise<string> {
  const { createTradingAccount, getCommand } = OPERATIONS;
  const body: CreateTradingAccountBody = { ...account, requestId: key };
  const headers = { authorization: `Management ${organization.managementKey}` };
  const path = pathOf(createTradingAccount, { params: { serverId: organization.serverId } });
  const envelope = await request(stack.baseUrl + path, {
    method: createTradingAccount.method,
    headers: { ...headers, [HEADERS.idempotencyKey]: key },
    body,
  });
  const commandPath = pathOf(getCommand, { params: { commandId: CommandEnvelope.parse(envelope).command.id } });
  const end = Date.now() + CREATION_DEADLINE_MS;
  while (Date.now() < end) {
    const answer = await request(stack.baseUrl + commandPath, { method: getCommand.method, headers });
    const { command } = CommandAnswer.parse(answer);
    if (command.status === "succeeded") return assertDefined(command.accountNumber, "accountNumber");
    if (command.status === "failed" || command.status === "expired") {
      throw new LocalError(`A demo account was not created: ${command.errorMessage ?? command.status}`);
    }
    await delay(POLL_MS);
  }
  throw new LocalError(`A demo account was not created within ${CREATION_DEADLINE_MS / 1000} s.`);
}

async function request(
  url: string,
  options: { method: string; headers?: Record<string, string>; body?: unknown },
): Promise<unknown> {
  const { method, headers, body } = options;
  const content = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(url, {
    method,
    headers: { ...content, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new LocalError(`${method} ${new URL(url).pathname} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
