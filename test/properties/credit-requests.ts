/** Valid and invalid requests of every price class, and the outcome of each request. */
import { randomUUID } from "node:crypto";

import { DEFAULT_PRICES } from "@kapi/contracts";
import WebSocket from "ws";

import type { OutsideClient } from "../e2e/outside-client.ts";

const { read, mutation, create, bulkItem, export: exported, liveConnection } = DEFAULT_PRICES;
/** More money than any account has. */
const TOO_MUCH = 900_000_000;
const ANSWER_TIMEOUT_MS = 20_000;

/** The kinds of requests. */
export const KINDS = [
  "balance",
  "prices",
  "configuration",
  "account",
  "unknown account",
  "bad list",
  "unknown command",
  "deposit",
  "withdrawal that fails",
  "bad deposit",
  "creation",
  "bad creation",
  "bulk",
  "export",
  "repeat",
  "used idempotency key",
  "change configuration",
  "change that the owner refuses",
  "no management key",
  "live connection",
] as const;
export type Kind = (typeof KINDS)[number];

/** A request that can be sent once or several times. */
export interface CreditRequest {
  /** The operation's name in the usage list. */
  readonly operation: string;
  /** Credits of a successful request. For a bulk request, credits of each new item. */
  readonly price: number;
  readonly method: "GET" | "POST" | "PATCH" | "LIVE";
  readonly path: string;
  readonly body?: object;
  /** The idempotency key. */
  readonly key?: string;
  /** False: the request is sent without the management key. */
  readonly authorized?: boolean;
}

/** The result of one request, as the caller sees it. */
export interface Outcome {
  readonly request: CreditRequest;
  /** The `X-Request-Id` of the request, not the `requestId` of its body. */
  readonly requestId: string;
  readonly sentMs: number;
  readonly answeredMs: number;
  /** Null if no response came. */
  readonly status: number | null;
  /** Credits, from the response header. 0 without the header. */
  readonly charged: number;
  /** Ids of the commands that this request has queued. Duplicates are left out. */
  readonly queued: readonly string[];
}

/** A valid body of a creation, without `requestId`. */
export const CREATION = { accountName: "Scenario", initialBalance: 100, leverage: 100 };
const creation = { ...CREATION, requestId: "credits" };

/**
 * Returns a request of this kind. `earlier` is a sent request: "repeat" returns this request, and
 * "used idempotency key" returns a deposit of 3.5 with the key of `earlier`. Without `earlier`,
 * both kinds return a deposit with a new key.
 */
export function requestOf(kind: Kind, { serverId, account, earlier }: RequestTarget): CreditRequest {
  const at = `/servers/${serverId}`;
  const of = `${at}/accounts/${account}`;
  const key = randomUUID();
  const deposit = { operation: "depositAccountFunds", method: "POST", path: `${of}/finance/deposits` } as const;
  switch (kind) {
    case "balance":
      return { operation: "getCreditBalance", price: read, method: "GET", path: "/credits/balance" };
    case "prices":
      return { operation: "getCreditPrices", price: read, method: "GET", path: "/credits/prices" };
    case "configuration":
      return { operation: "getServerConfiguration", price: read, method: "GET", path: `${at}/configuration` };
    case "account":
      return { operation: "getTradingAccount", price: read, method: "GET", path: of };
    case "unknown account":
      return { operation: "getTradingAccount", price: read, method: "GET", path: `${at}/accounts/00000000` };
    case "bad list":
      return { operation: "listTradingAccountOrders", price: read, method: "GET", path: `${of}/orders?page=0` };
    case "unknown command":
      return { operation: "getCommand", price: read, method: "GET", path: `/commands/${randomUUID()}` };
    case "deposit":
      return { ...deposit, price: mutation, body: { amount: 1, requestId: "credits" }, key };
    case "withdrawal that fails": {
      const body = { amount: TOO_MUCH, requestId: "credits" };
      const path = `${of}/finance/withdrawals`;
      return { operation: "withdrawAccountFunds", price: mutation, method: "POST", path, body, key };
    }
    case "bad deposit":
      return { ...deposit, price: mutation, body: { amount: -1, requestId: "credits" }, key };
    case "creation":
      return { ...creating(at), price: create, body: creation, key };
    case "bad creation":
      return { ...creating(at), price: create, body: { ...creation, leverage: 3 }, key };
    case "bulk": {
      const body = { accounts: [creation, { ...creation, accountName: "Second" }], requestId: "credits" };
      const path = `${at}/accounts/bulk`;
      return { operation: "bulkCreateTradingAccounts", price: bulkItem, method: "POST", path, body, key };
    }
    case "export": {
      const path = `${of}/exports/history`;
      const body = { requestId: "credits", limit: 5 };
      return { operation: "exportAccountHistory", price: exported, method: "POST", path, body, key };
    }
    case "repeat":
      return earlier ?? { ...deposit, price: mutation, body: { amount: 2, requestId: "credits" }, key };
    case "used idempotency key":
      return { ...deposit, price: mutation, body: { amount: 3.5, requestId: "credits" }, key: earlier?.key ?? key };
    case "change configuration":
      return { ...changing(at), price: mutation, body: { defaultLeverage: 100 } };
    case "change that the owner refuses":
      return { ...changing(at), price: mutation, body: { defaultLeverage: 7 } };
    case "no management key":
      return { operation: "getTradingAccount", price: 0, method: "GET", path: of, authorized: false };
    case "live connection":
      return { operation: "liveMetrics", price: liveConnection, method: "LIVE", path: "" };
  }
}

export interface RequestTarget {
  readonly serverId: string;
  readonly account: string;
  readonly earlier: CreditRequest | undefined;
}

const creating = (at: string) =>
  ({ operation: "createTradingAccount", method: "POST", path: `${at}/accounts` }) as const;
const changing = (at: string) =>
  ({ operation: "updateServerConfiguration", method: "PATCH", path: `${at}/configuration` }) as const;

/** Sends a request with a new `X-Request-Id`, and returns the outcome. It never rejects. */
export async function send(client: OutsideClient, request: CreditRequest): Promise<Outcome> {
  const requestId = randomUUID();
  const sentMs = Date.now();
  const answer = await (
    request.method === "LIVE" ? connect(client, requestId) : call(client, request, requestId)
  ).catch(() => ({ status: null, charged: 0, queued: [] }));
  return { request, requestId, sentMs, answeredMs: Date.now(), ...answer };
}

type ResponseOutcome = Pick<Outcome, "status" | "charged" | "queued">;

interface Envelope {
  readonly command?: { readonly id: string };
  readonly duplicate?: boolean;
}

async function call(client: OutsideClient, request: CreditRequest, requestId: string): Promise<ResponseOutcome> {
  const { managementKey, baseUrl } = client.demo;
  const response = await fetch(`${baseUrl}/api/v1/management${request.path}`, {
    method: request.method,
    headers: {
      "x-request-id": requestId,
      ...(request.authorized === false ? {} : { authorization: `Management ${managementKey}` }),
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      ...(request.key === undefined ? {} : { "idempotency-key": request.key }),
    },
    body: request.body === undefined ? null : JSON.stringify(request.body),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  const body = (await response.json()) as Envelope & { readonly results?: readonly Envelope[] };
  const envelopes = body.results ?? [body];
  const queued =
    response.status === 202
      ? envelopes.flatMap(({ command, duplicate }) => (command && duplicate === false ? [command.id] : []))
      : [];
  return { status: response.status, charged: Number(response.headers.get("x-credits-charged") ?? 0), queued };
}

/** Only the handshake is billed, so the connection is closed at once. */
function connect(client: OutsideClient, requestId: string): Promise<ResponseOutcome> {
  const { wsBase, managementKey } = client.demo;
  const socket = new WebSocket(`${wsBase}/api/v1/management/live-metrics`, {
    headers: { authorization: `Management ${managementKey}`, "x-request-id": requestId },
    handshakeTimeout: ANSWER_TIMEOUT_MS,
  });
  return new Promise((resolve, reject) => {
    socket.once("upgrade", ({ headers }) => {
      resolve({ status: 101, charged: Number(headers["x-credits-charged"]), queued: [] });
      socket.once("open", () => socket.terminate());
    });
    socket.once("unexpected-response", (_request, response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, charged: 0, queued: [] });
    });
    socket.once("error", reject);
  });
}
