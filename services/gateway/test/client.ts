import { randomUUID } from "node:crypto";

import type { Command, CommandEnvelope, ErrorBody, Wallet } from "@kapi/contracts";

import type { Organization } from "./platform.ts";

/** A response with the parts that tests check. */
export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
  /** `X-Credits-Charged`, as a number. */
  readonly charged: number;
  /** `X-Credits-Remaining`, as a number; NaN without the header. */
  readonly remaining: number;
}

export interface CallOptions {
  readonly method?: string;
  /** Sent as JSON; text is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly managementKey?: string | null;
}

/** Calls `path` below /api/v1/management as an outside client of the organization would. */
export async function call<T = ErrorBody>(
  url: string,
  organization: Organization,
  path: string,
  options: CallOptions = {},
): Promise<Answer<T>> {
  const { body, managementKey = organization.managementKey } = options;
  const headers = new Headers(options.headers);
  if (managementKey !== null) headers.set("authorization", `Management ${managementKey}`);
  if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const answer = await fetch(`${url}/api/v1/management/${path}`, {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: answer.status,
    body: (await answer.json()) as T,
    headers: answer.headers,
    charged: Number(answer.headers.get("x-credits-charged") ?? "missing"),
    remaining: Number(answer.headers.get("x-credits-remaining") ?? "missing"),
  };
}

/** A valid body of createTradingAccount. */
export function accountBody(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { accountName: "Ada", initialBalance: 1_000, leverage: 100, requestId: randomUUID(), ...change };
}

/** Sends a creation under a key, or repeats it. */
export function create(
  url: string,
  organization: Organization,
  key: string,
  body: unknown = accountBody(),
): Promise<Answer<CommandEnvelope & ErrorBody>> {
  const path = `servers/${organization.server.serverId}/accounts`;
  return call(url, organization, path, { body, headers: { "idempotency-key": key } });
}

/** Deposits on an account. */
export function deposit(
  url: string,
  organization: Organization,
  accountNumber: string,
  key: string,
  body: unknown,
): Promise<Answer<CommandEnvelope & ErrorBody>> {
  const path = `servers/${organization.server.serverId}/accounts/${accountNumber}/finance/deposits`;
  return call(url, organization, path, { body, headers: { "idempotency-key": key } });
}

/**
 * Reads a command. With `wait`, the answer comes when the command is final, or after `wait`
 * seconds.
 */
export function getCommand(
  url: string,
  organization: Organization,
  commandId: string,
  wait = 0,
): Promise<Answer<{ command: Command } & ErrorBody>> {
  return call(url, organization, `commands/${commandId}${wait > 0 ? `?wait=${wait}` : ""}`);
}

/** Reads the wallet. */
export async function getWallet(url: string, organization: Organization): Promise<Wallet> {
  return (await call<{ wallet: Wallet }>(url, organization, "credits/balance")).body.wallet;
}

/** Creates an account and returns its number. */
export async function createdAccount(url: string, organization: Organization): Promise<string> {
  const { body } = await create(url, organization, randomUUID());
  const { command } = (await getCommand(url, organization, body.command.id, 20)).body;
  if (command.status !== "succeeded") throw new Error(`the account was not created: ${JSON.stringify(command)}`);
  return String(command.result?.["accountNumber"]);
}
