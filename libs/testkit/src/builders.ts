import { createHash, randomBytes, randomUUID } from "node:crypto";

import {
  type AnyCommandMessage,
  COMMAND_DEADLINE_MS,
  DEFAULT_PRICES,
  type KeyEntry,
  moneyOf,
  type PricesEntry,
  SCOPES,
  type ServerEntry,
  type TradingEvent,
  type Valuation,
} from "@kapi/contracts";
import { commandIdOf, randomBase32, toIso, uuidV5 } from "@kapi/kernel";

const KEY_ID_CHARACTERS = 16;
const SECRET_BYTES = 32;
/** The leverages of the server that `npm start` creates (decisions, 4.10). */
export const DEMO_LEVERAGES = [1, 2, 5, 10, 20, 25, 30, 50, 100, 200, 300, 400, 500, 1000, 2000, 5000, 10000] as const;

/** A random account number of 8 digits, so tests on the same servers use different accounts. */
export function anyAccountNumber(): string {
  return String(10_000_000 + (randomBytes(4).readUInt32BE() % 90_000_000));
}

/**
 * A valid deposit of 100.00 on a new account; `overrides` replace its fields. `amountMinor` follows
 * from the payload.
 */
export function commandMessage(overrides: Partial<AnyCommandMessage> = {}): AnyCommandMessage {
  const { operation = "finance.deposit", payload = { amount: 100 } } = overrides;
  const amountMinor = moneyOf(operation, payload);
  const organizationId = overrides.organizationId ?? randomUUID();
  const idempotencyKey = overrides.idempotencyKey ?? randomUUID();
  const nowMs = Date.now();
  return {
    commandId: commandIdOf(organizationId, idempotencyKey),
    organizationId,
    serverId: randomUUID(),
    accountNumber: anyAccountNumber(),
    managedAccountId: randomUUID(),
    operation,
    requestId: "request-1",
    idempotencyKey,
    fingerprint: createHash("sha256").update(idempotencyKey).digest("hex"),
    payload,
    ...(amountMinor === null ? {} : { amountMinor }),
    sealedPassword: null,
    derivationKeyId: null,
    reservedCredits: 5,
    createdAt: toIso(nowMs),
    deadlineAt: toIso(nowMs + COMMAND_DEADLINE_MS),
    createdBy: { type: "key", id: "mfrggzdfmztwq2lk" },
    ...overrides,
  };
}

type BalanceChanged = Extract<TradingEvent, { type: "balance.changed" }>;
type AccountCreated = Extract<TradingEvent, { type: "account.created" }>;

/** The event of a deposit of 100.00, as the trading server reports it. */
export function balanceChanged(overrides: Partial<BalanceChanged> = {}): BalanceChanged {
  return {
    ...eventEnvelope(overrides),
    type: "balance.changed",
    kind: "deposit",
    amountMinor: 10_000,
    description: null,
    ...overrides,
  };
}

/** The first event of an account, created without money. */
export function accountCreated(overrides: Partial<AccountCreated> = {}): AccountCreated {
  const initialBalanceMinor = overrides.initialBalanceMinor ?? 0;
  return {
    ...eventEnvelope({ balanceMinor: initialBalanceMinor, ...overrides }),
    type: "account.created",
    accountName: "Test account",
    leverage: 100,
    currency: "USD",
    initialBalanceMinor,
    ...overrides,
  };
}

interface Envelope {
  readonly eventId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly sequence: number;
  readonly occurredAt: string;
  readonly reference: string | null;
  readonly balanceMinor: number;
  readonly openPositionCount: number;
}

/** The fields of every trading event. The event id follows from server, account and sequence. */
export function eventEnvelope(overrides: Partial<Envelope> = {}): Envelope {
  const serverId = overrides.serverId ?? randomUUID();
  const accountNumber = overrides.accountNumber ?? anyAccountNumber();
  const sequence = overrides.sequence ?? 1;
  return {
    eventId: overrides.eventId ?? uuidV5(serverId, `${accountNumber}/${sequence}`),
    serverId,
    accountNumber,
    sequence,
    occurredAt: overrides.occurredAt ?? toIso(Date.now()),
    reference: overrides.reference ?? null,
    balanceMinor: overrides.balanceMinor ?? 10_000,
    openPositionCount: overrides.openPositionCount ?? 0,
  };
}

/** The valuation of an account with a balance of 1,000.00 and no open position. */
export function valuation(overrides: Partial<Valuation> = {}): Valuation {
  const balanceMinor = overrides.balanceMinor ?? 100_000;
  const equityMinor = overrides.equityMinor ?? balanceMinor;
  const marginMinor = overrides.marginMinor ?? 0;
  return {
    serverId: randomUUID(),
    accountNumber: anyAccountNumber(),
    measuredAt: toIso(Date.now()),
    balanceMinor,
    equityMinor,
    marginMinor,
    freeMarginMinor: equityMinor - marginMinor,
    marginLevel: marginMinor === 0 ? 0 : Math.round((equityMinor / marginMinor) * 10_000) / 100,
    unrealizedProfitMinor: equityMinor - balanceMinor,
    openPositionCount: marginMinor === 0 ? 0 : 1,
    ...overrides,
  };
}

/** A key with all scopes on all servers, and the management key that its caller sends. */
export function keyEntry(overrides: Partial<KeyEntry> = {}): { entry: KeyEntry; managementKey: string } {
  const keyId = overrides.keyId ?? randomBase32(KEY_ID_CHARACTERS);
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  const entry: KeyEntry = {
    kind: "key",
    version: 1,
    keyId,
    organizationId: randomUUID(),
    secretHash: createHash("sha256").update(secret).digest("hex"),
    scopes: [...SCOPES],
    serverIds: null,
    expiresAt: null,
    status: "active",
    rateLimit: null,
    ...overrides,
  };
  return { entry, managementKey: `kapi.${keyId}.${secret}` };
}

/** An active demo server in USD. */
export function serverEntry(overrides: Partial<ServerEntry> = {}): ServerEntry {
  return {
    kind: "server",
    version: 1,
    serverId: randomUUID(),
    organizationId: randomUUID(),
    status: "active",
    tradingServerUrl: "http://127.0.0.1:1",
    configuration: {
      serverName: "Test-Demo",
      companyName: "Test Company",
      currency: "USD",
      environment: "demo",
      supportedLeverage: [...DEMO_LEVERAGES],
      defaultLeverage: 100,
    },
    ...overrides,
  };
}

/** The default prices. */
export function pricesEntry(overrides: Partial<PricesEntry> = {}): PricesEntry {
  return { kind: "prices", version: 1, prices: DEFAULT_PRICES, ...overrides };
}
