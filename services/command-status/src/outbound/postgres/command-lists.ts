import { type CursorPosition, MAX_BULK_ITEMS, pageStartOf } from "@kapi/contracts";
import { assertDefined, commandIdOf } from "@kapi/kernel";
import { type Database, type Statement, statement } from "@kapi/postgres";

import { type CommandListQuery, dayRangesOf, timeRangeOf } from "../../domain/command-list.ts";
import type { FinalCommandRepository, CommandLists } from "../../domain/ports.ts";
import { REQUESTED_COMMANDS, detailsOf, OLD_MONTH } from "./command-places.ts";
import { COMMAND_COLUMNS, type CommandRow, fromRow, lacksResult, largeResults } from "./command-row.ts";

/**
 * Lists of a server's commands. The statement of a list has only the conditions that its query
 * gives, so that no plan has to serve absent filters. There are fewer than 3,200 such statements.
 *
 * A page is found by index-only scans of all months, and only its own rows are read. `total` comes
 * from the counters (see migrations/0002) where they suffice, else from a count in the index of the
 * filter.
 */

const FIND_FINAL = statement<{ command_id: string }>(
  "final_commands_among",
  `select known.asked_id as command_id from ${REQUESTED_COMMANDS}
   where coalesce(commands.status, known.status, 'succeeded') in ('succeeded', 'failed', 'expired')
     and coalesce(commands.created_at, known.created_at) is not null`,
);

interface Total {
  readonly total: number;
}

/** Collects the values and conditions of a statement. */
class Sql {
  readonly values: unknown[] = [];
  /** Names of the conditions, which the statement is named after. */
  readonly parts: string[] = [];

  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

const statements = new Map<string, Statement<unknown>>();

/** Returns the statement of a combination of conditions; creates it at the first use. */
function prepared<Row>(kind: string, sql: Sql, text: string): Statement<Row> {
  const name = [kind, ...sql.parts].join("_");
  const known = statements.get(name) ?? statement<unknown>(name, text);
  statements.set(name, known);
  return known as Statement<Row>;
}

/** Reads lists of commands from PostgreSQL. */
export function createCommandLists(database: Database): CommandLists {
  return {
    list: async (query) => {
      const [total] = await totalOf(database, query);
      const all = assertDefined(total, "a count").total;
      const { offset, after } = pageStartOf("commands", query);
      const found = offset < all ? await pageOf(database, query, offset, after) : [];
      const rows = found.slice(0, query.limit);
      const end = found.length > rows.length ? rows.at(-1) : undefined;
      const last = end === undefined ? null : ([end.listed_at, end.command_id] as const);
      const largeBytes = rows.filter(lacksResult).reduce((bytes, row) => bytes + row.result_bytes, 0);
      return { total: all, last: last === null ? null : [...last], largeBytes, commands: rendered(database, rows) };
    },
  };
}

/** Renders rows one by one: only one large result is in memory, and no transaction stays open. */
async function* rendered(database: Database, rows: readonly CommandRow[]): AsyncGenerator<string> {
  for (const row of rows) {
    const results = await largeResults(database, new Set(lacksResult(row) ? [row.command_id] : []));
    yield fromRow(row, results.get(row.command_id)).json;
  }
}

/** A command with its key in the list. */
interface ListedRow extends CommandRow {
  /** `created_at` with microseconds. */
  readonly listed_at: string;
}

/** One row more than the page has: the row shows whether a command follows the page. */
function pageOf(
  database: Database,
  query: CommandListQuery,
  offset: number,
  after: CursorPosition<"commands"> | null,
): Promise<ListedRow[]> {
  const sql = new Sql();
  const { organizationId, serverId, limit } = query;
  let listed = conditions(sql, query, sql.value(organizationId), sql.value(serverId));
  if (after !== null) {
    sql.parts.push("after");
    listed += ` and (created_at, command_id) < (${sql.value(after[0])}::timestamptz, ${sql.value(after[1])}::uuid)`;
  }
  const text = `
    with page as (
      select command_id from commands_by_month where ${listed}
      order by created_at desc, command_id desc
      limit ${sql.value(limit + 1)} offset ${sql.value(offset)}
    )
    select ${COMMAND_COLUMNS},
      to_char(commands.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as listed_at
    from ${detailsOf("page as given")}
    where commands.organization_id = $1
    order by commands.created_at desc, commands.command_id desc`;
  return database.query(prepared<ListedRow>("list_commands", sql, text), sql.values);
}

function totalOf(database: Database, query: CommandListQuery): Promise<Total[]> {
  const sql = new Sql();
  const organization = sql.value(query.organizationId);
  const server = sql.value(query.serverId);
  const { accountNumber, requestId, idempotencyKey, bulkIdempotencyKey, status } = query;
  const narrow = [accountNumber, requestId, idempotencyKey, bulkIdempotencyKey].some((filter) => filter !== undefined);
  if (narrow || (status !== undefined && status !== "succeeded")) {
    const owned = ownedBy(organization, server);
    const listed = conditions(sql, query, organization, server);
    const text = `select case when ${owned} then (select count(*) from commands_by_month where ${listed}) else 0 end as total`;
    return database.query(prepared<Total>("count_commands", sql, text), sql.values);
  }
  const listed = counted(sql, query, organization, server);
  if (status === undefined)
    return database.query(prepared<Total>("counted_commands", sql, `select ${listed} as total`), sql.values);
  // Nearly all commands are succeeded: counting the other states is cheaper.
  sql.parts.push("succeeded");
  const others = (["queued", "leased", "failed", "expired"] as const).map((other) => {
    const rest = conditions(new NamelessSql(sql), { ...query, status: other }, organization, server);
    return `(select count(*) from commands_by_month where ${rest})`;
  });
  const owned = ownedBy(organization, server);
  const text = `select case when ${owned} then ${listed} - ${others.join(" - ")} else 0 end as total`;
  return database.query(prepared<Total>("counted_commands", sql, text), sql.values);
}

/** Adds its values to those of `outer`, without changing the name of the statement. */
class NamelessSql extends Sql {
  override readonly values: unknown[];

  constructor(outer: Sql) {
    super();
    this.values = outer.values;
  }
}

/**
 * SQL for the number of commands that match operation and time, from the counters of whole days.
 */
function counted(sql: Sql, query: CommandListQuery, organization: string, server: string): string {
  const { operation, from, to } = query;
  const { days, head, tail } = dayRangesOf(timeRangeOf(query));
  const ofOperation = operation === undefined ? "" : ` and operation = ${sql.value(operation)}`;
  if (operation !== undefined) sql.parts.push("operation");
  const ofDays =
    from === undefined && to === undefined
      ? ""
      : ` and day >= ${sql.value(dayOf(days.from))}::date and day < ${sql.value(dayOf(days.before))}::date`;
  const whole = `(select coalesce(sum(commands), 0)::bigint from command_counts_by_month
    where organization_id = ${organization} and server_id = ${server}${ofDays}${ofOperation})`;
  if (ofDays === "") return whole;
  // The counts of other states in the statement (see `totalOf`) depend on which bounds are given.
  if (from !== undefined) sql.parts.push("from");
  if (to !== undefined) sql.parts.push("to");
  const owned = ownedBy(organization, server);
  const ends = [head, tail].map(
    (end) => `(select count(*) from commands_by_month where server_id = ${server} and created_at is not null
      and created_at >= ${sql.value(end.from)}::timestamptz and created_at < ${sql.value(end.before)}::timestamptz${ofOperation})`,
  );
  return `case when ${owned} then ${[whole, ...ends].join(" + ")} else 0 end`;
}

/**
 * SQL for whether the organization owns the server. With it a count needs no row, only an index.
 */
function ownedBy(organization: string, server: string): string {
  return `exists (select from command_counts_by_month where organization_id = ${organization} and server_id = ${server})`;
}

/** The date of a start of day; an infinity is returned as it is. */
function dayOf(start: string): string {
  return start.slice(0, "2026-01-01".length);
}

/** SQL conditions of the query. States are literals, because partial indexes require that. */
function conditions(sql: Sql, query: CommandListQuery, organization: string, server: string): string {
  const { accountNumber, requestId, idempotencyKey, bulkIdempotencyKey, status, operation, from, to } = query;
  const all = [`server_id = ${server}`, "created_at is not null"];
  const add = (name: string, condition: string): void => {
    sql.parts.push(name);
    all.push(condition);
  };
  if (idempotencyKey !== undefined) {
    const commandId = `${sql.value(commandIdOf(query.organizationId, idempotencyKey))}::uuid`;
    const month = `select month from command_ids where command_id = ${commandId}`;
    add("key", `month = coalesce((${month}), ${OLD_MONTH}) and command_id = ${commandId}`);
  }
  if (bulkIdempotencyKey !== undefined) {
    const ids = `${sql.value(bulkCommandIds(query.organizationId, bulkIdempotencyKey))}::uuid[]`;
    const months = `select month from command_ids where command_id = any(${ids})`;
    add("bulk", `(month in (${months}) or month = ${OLD_MONTH}) and command_id = any(${ids})`);
  }
  if (requestId !== undefined) add("request", `request_id = ${sql.value(requestId)}`);
  if (accountNumber !== undefined) add("account", `account_number = ${sql.value(accountNumber)}`);
  if (status === "queued" || status === "leased") {
    add(status, `organization_id = ${organization} and status in ('queued', 'leased') and status = '${status}'`);
  } else if (status === "failed" || status === "expired") {
    add(status, `status in ('failed', 'expired') and status = '${status}'`);
  } else if (status !== undefined) add(status, `status = '${status}'`);
  if (operation !== undefined) add("operation", `operation = ${sql.value(operation)}`);
  const span = timeRangeOf({ from, to });
  if (from !== undefined) add("from", `created_at >= ${sql.value(span.from)}::timestamptz`);
  if (to !== undefined) add("to", `created_at < ${sql.value(span.before)}::timestamptz`);
  return all.join(" and ");
}

/** The ids of the commands that a bulk with this key can have (decisions, 2.1 and 2.2). */
function bulkCommandIds(organizationId: string, key: string): string[] {
  return Array.from({ length: MAX_BULK_ITEMS }, (_item, index) => commandIdOf(organizationId, `${key}:${index}`));
}

/** Finds final commands by their ids. */
export function createFinalCommandRepository(database: Database): FinalCommandRepository {
  return {
    findFinal: async (commandIds) =>
      (await database.query(FIND_FINAL, [commandIds])).map(({ command_id: commandId }) => commandId),
  };
}
