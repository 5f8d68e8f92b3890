import { randomUUID } from "node:crypto";

import { type Command, InvalidArgumentError } from "commander";

import { CommandError } from "../commands/errors.ts";
import type { QueuedCommand } from "../commands/queued-command.ts";
import { Kapi, type KapiOptions } from "../kapi.ts";
import type { List } from "../list.ts";
import type { ServerResource } from "../resources/server.ts";
import { connectionOf, type GlobalOptions } from "./connection.ts";
import { Stopped, UsageError } from "./exit.ts";
import { type Column, Output } from "./output.ts";
import type { Connection, Surroundings } from "./surroundings.ts";

const DEFAULT_RECORDS = 20;
/** No retry begins later than 10 s after the first attempt: a person waits for the answer. */
const RETRY = { maxAttempts: 4, maxElapsedMs: 10_000 };

/** What a command that calls the API needs: the connection, the client, and where results go. */
export interface Session {
  readonly surroundings: Surroundings;
  readonly connection: Connection;
  readonly kapi: Kapi;
  readonly output: Output;
  /** The server of the command. @throws UsageError if none is named. */
  readonly server: () => ServerResource;
}

/** Options of commands that queue a change. */
export interface MutationOptions extends GlobalOptions {
  readonly key?: string;
  readonly wait: boolean;
}

/** Options of commands that list records. */
export interface ListOptions extends GlobalOptions {
  readonly limit: number;
  readonly all?: true;
}

/** Opens the session of a command. */
export async function openSession(surroundings: Surroundings, options: GlobalOptions): Promise<Session> {
  const connection = await connectionOf(surroundings, options);
  const { key, baseUrl, liveUrl, serverId } = connection;
  const kapi = createKapi(surroundings, { key, baseUrl, liveUrl });
  return {
    surroundings,
    connection,
    kapi,
    output: new Output(surroundings, options.json === true),
    server: () => {
      if (serverId === undefined) throw new UsageError("No server is named: give --server, or set KAPI_SERVER.");
      return kapi.server(serverId);
    },
  };
}

/**
 * Returns the client of a connection, whose requests end when the user stops the program.
 * @throws UsageError for an invalid key or address.
 */
export function createKapi({ signal }: Surroundings, options: KapiOptions): Kapi {
  try {
    return new Kapi({ retry: RETRY, signal, ...options });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

/** Adds {@link GlobalOptions} to a command. */
export function withGlobalOptions(command: Command): Command {
  return command
    .option("--json", "print JSON, for programs")
    .option("--server <id>", "the trading server (default: KAPI_SERVER, or the one of the profile)")
    .option("--profile <name>", "a profile of kapi login");
}

/** Adds a subcommand whose request queues a command of kapi, under an idempotency key. */
export function addQueued(parent: Command, name: string, description: string): Command {
  return withGlobalOptions(parent.command(name).description(description)).option(
    "--key <key>",
    "idempotency key: a repeat with the same key makes no second change (default: a new key)",
    idempotencyKey,
  );
}

/** Adds a command that queues a change, and waits for the result unless `--no-wait` is given. */
export function addMutation(parent: Command, name: string, description: string): Command {
  return addQueued(parent, name, description)
    .option("--wait", "wait for the result (default)", true)
    .option("--no-wait", "return as soon as the change is queued");
}

/** Adds a command that lists records. */
export function addList(parent: Command, name: string, description: string): Command {
  return withGlobalOptions(parent.command(name).description(description))
    .option("--limit <n>", "maximum number of records", wholeNumber(1), DEFAULT_RECORDS)
    .option("--all", "all records");
}

/** A queued command of any operation. */
interface ShownCommand extends Omit<QueuedCommand, "operation" | "result" | "get"> {
  readonly operation: string;
  result(): Promise<unknown>;
}

/**
 * Queues a change, and shows its result or, with `--no-wait`, the queued command. Passwords are
 * shown whatever the result is: those of a new account are in no later answer.
 */
export async function carryOut(
  { output, surroundings: { signal } }: Session,
  options: MutationOptions,
  queue: (options: { readonly key: string }) => Promise<ShownCommand>,
): Promise<void> {
  const { key = randomUUID(), wait } = options;
  // After a lost answer the same key repeats the change without a second effect.
  if (options.key === undefined) output.note(`idempotency key: ${key}`);
  const command = await queue({ key });
  const { id, operation, duplicate, credentials, password } = command;
  const shownOnce = { ...credentials, ...(password === null ? {} : { password }) };
  const show = (status: string, result: object | null): void => {
    const value = { commandId: id, operation, status, idempotencyKey: key, duplicate, ...shownOnce, result };
    const fields = result === null ? {} : withoutRecords(result);
    output.print(value, () => output.fields({ status, ...fields, ...shownOnce, command: id }));
  };
  if (!wait) {
    show("queued", null);
    return;
  }
  let result: object;
  try {
    result = (await command.result()) as object;
  } catch (error) {
    show(error instanceof CommandError ? error.command.status : "queued", null);
    throw signal.aborted ? new Stopped(`Stopped. Wait for the command: kapi commands wait ${id}`) : error;
  }
  show("succeeded", result);
}

/** The fields of a result without nulls, objects and lists: a line shows one plain value. */
function withoutRecords(result: object): Record<string, string | number | boolean | null> {
  const plain = Object.entries(result).filter(([, value]) => typeof value !== "object");
  return Object.fromEntries(plain) as Record<string, string | number | boolean | null>;
}

/** Runs a command that goes on until the user stops the program. The stop is not an error. */
export async function untilStopped({ signal }: Surroundings, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Shows the first records of a list, as many as `--limit`, or with `--all` every record. */
export async function showList<T>(
  { output }: Session,
  { limit, all }: ListOptions,
  list: List<T>,
  columns: readonly Column<T>[],
): Promise<void> {
  const records: T[] = [];
  let count = 0;
  for await (const record of list) {
    count += 1;
    // A long list of JSON lines is written as it is read.
    if (output.isJson) output.rows([record], columns);
    else records.push(record);
    // The next record can be on another page, which is billed.
    if (all !== true && count === limit) break;
  }
  if (!output.isJson) output.rows(records, columns);
}

/** Parses a whole number of at least `minimum`. */
export function wholeNumber(minimum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum) return value;
    throw new InvalidArgumentError(`It must be a whole number, ${minimum} or more.`);
  };
}

/** Parses a decimal amount. */
export function amount(text: string): string {
  if (/^\d{1,10}(\.\d{1,2})?$/.test(text)) return text;
  throw new InvalidArgumentError(
    "It must be an amount below 10,000,000,000 with at most two decimals, such as 250.55.",
  );
}

const DURATION = /^(\d{1,6})([smhd])$/;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A day in UTC, or a time with its zone. A time without a zone would depend on the machine. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Parses a day in UTC, a time with its zone, or a duration before now, such as `2h` or `30d`. */
export function time(text: string): Date {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count !== undefined) return new Date(Date.now() - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  const [, date] = TIME.exec(text) ?? [];
  const at = new Date(text);
  if (date !== undefined && isDay(date) && !Number.isNaN(at.getTime())) return at;
  throw new InvalidArgumentError("It must be a time such as 2026-03-01T00:00:00Z, or a duration such as 2h or 30d.");
}

/** Parses a day in UTC. */
export function day(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError("It must be a day such as 2026-03-01.");
}

/** Whether `text` is an existing day: `Date` accepts February 30 as a day of March. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(`${text}T`);
}

/** Parses an address of http or https. */
export function address(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return text;
  throw new InvalidArgumentError("It must be an address such as http://localhost:3000/hook.");
}

function idempotencyKey(text: string): string {
  if (text.length >= 1 && text.length <= 100) return text;
  throw new InvalidArgumentError("It must have 1 to 100 characters.");
}
