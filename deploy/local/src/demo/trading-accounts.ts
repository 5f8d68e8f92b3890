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

/** Statuses if the wallet cannot pay for a request, or the account was deleted. */
const MISSING: ReadonlySet<number> = new Set([402, 404]);

/** The API or the trading server rejected a request. */
class UnexpectedStatus extends LocalError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Market ticks between two trading decisions of an account. */
const EVERY_TICKS = 20;
/** Maximum number of open positions of an account. */
const MAX_POSITIONS = 4;

/**
 * Creates `count` demo accounts (at most three) through the API, switches on automatic trading and
 * returns the account numbers. The idempotency keys are fixed, so a second call returns the same
 * accounts.
 * @throws UnexpectedStatus if the API or the trading server rejects a request.
 */
export function createTradingAccounts(
  stack: Stack,
  organization: ReadyOrganization,
  count: number = ACCOUNTS.length,
): Promise<string[]> {
  return Promise.all(
    Array.from(ACCOUNTS.slice(0, count), (_account, index) => startTrading(stack, organization, index)),
  );
}

/**
 * Like {@link createTradingAccounts}, for an organization of an earlier start. Leaves out accounts
 * that were deleted since, and all accounts if the wallet cannot pay for the requests.
 */
export async function findTradingAccounts(stack: Stack, organization: ReadyOrganization): Promise<string[]> {
  const found = await Promise.all(
    Array.from(ACCOUNTS, (_account, index) =>
      startTrading(stack, organization, index).catch((error: unknown) => {
        if (error instanceof UnexpectedStatus && MISSING.has(error.status)) return null;
        throw error;
      }),
    ),
  );
  return found.filter((accountNumber) => accountNumber !== null);
}

async function startTrading(stack: Stack, organization: ReadyOrganization, index: number): Promise<string> {
  const { symbols, volume, ...account } = assertDefined(ACCOUNTS[index], "a demo account");
  const accountNumber = await createAccount(stack, organization, account, `demo-account-${index + 1}`);
  const settings = { enabled: true, symbols, volume, everyTicks: EVERY_TICKS, maxPositions: MAX_POSITIONS };
  const place = `/control/v1/servers/${organization.serverId}/accounts/${accountNumber}/auto-trader`;
  await request(stack.tradingServerUrl + place, { method: "PUT", body: settings });
  return accountNumber;
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
  if (!response.ok) {
    const message = `${method} ${new URL(url).pathname} answered ${response.status}: ${text}`;
    throw new UnexpectedStatus(message, response.status);
  }
  return JSON.parse(text);
}
