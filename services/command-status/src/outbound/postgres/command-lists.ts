import { assertDefined, commandIdOf } from "@kapi/kernel";
import { type Database, type Statement, statement } from "@kapi/postgres";

import { type CommandListQuery, daySpansOf, spanOf } from "../../domain/command-list.ts";
import type { CommandEnds, CommandLists } from "../../domain/ports.ts";
import { ASKED_COMMANDS, detailsOf, OLD_PLACE } from "./command-places.ts";
import { COMMAND_COLUMNS, type CommandRow, fromRow, lacksResult, largeResults } from "./command-row.ts";

/**
 * Lists of a server's commands. A list is put together from the conditions that its query gives and
 * no others, so that a plan never has to serve a filter that is not there; there are fewer than 300
 * such texts.
 *
 * A page is found in the indexes of all months alone, and only its own rows are read. `total` comes
 * from the counters (see migrations/0002) wherever they can tell it, else from counting in the
 * index of the filter.
 */

const FINAL_AMONG = statement<{ command_id: string }>(
  "final_commands_among",
  `select known.asked_id as command_id from ${ASKED_COMMANDS}
   where coalesce(commands.status, known.status, 'succeeded') in ('succeeded', 'failed', 'expired')
     and coalesce(commands.created_at, known.created_at) is not null`,
);

interface Total {
  readonly total: number;
}

/** SQL and its values while they are put together. */
class Sql {
  readonly values: unknown[] = [];
  /** Which conditions the text has: names the statement. */
  readonly parts: string[] = [];

  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

const statements = new Map<string, Statement<unknown>>();

/** One statement per combination of conditions, made when it is first asked for. */
function prepared<Row>(kind: string, sql: Sql, text: string): Statement<Row> {
  const name = [kind, ...sql.parts].join("_");
  const known = statements.get(name) ?? statement<unknown>(name, text);
  statements.set(name, known);
  return known as Statement<Row>;
}

/** The commands in PostgreSQL, in lists. */
export function createCommandLists(database: Database): CommandLists {
  return {
    list: async (query) => {
      const [total] = await totalOf(database, query);
      const all = assertDefined(total, "a count").total;
      const offset = (query.page - 1) * query.limit;
      const rows = offset < all ? await pageOf(database, query, offset) : [];
      const largeBytes = rows.filter(lacksResult).reduce((bytes, row) => bytes + row.result_bytes, 0);
      return { total: all, largeBytes, commands: rendered(database, rows) };
    },
  };
}

/** One large result at a time is in memory; between two nothing is held in the database. */
async function* rendered(database: Database, rows: readonly CommandRow[]): AsyncGenerator<string> {
  for (const row of rows) {
    const results = await largeResults(database, new Set(lacksResult(row) ? [row.command_id] : []));
    yield fromRow(row, results.get(row.command_id)).json;
  }
}

function pageOf(database: Database, query: CommandListQuery, offset: number): Promise<CommandRow[]> {
  const sql = new Sql();
  const { organizationId, serverId, limit } = query;
  const listed = conditions(sql, query, sql.value(organizationId), sql.value(serverId));
  const text = `
    with page as (
      select command_id from commands_by_month where ${listed}
      order by created_at desc, command_id desc
      limit ${sql.value(limit)} offset ${sql.value(offset)}
    )
    select ${COMMAND_COLUMNS} from ${detailsOf("page as given")}
    where commands.organization_id = $1
    order by commands.created_at desc, commands.command_id desc`;
  return database.query(prepared<CommandRow>("list_commands", sql, text), sql.values);
}

function totalOf(database: Database, query: CommandListQuery): Promise<Total[]> {
  const sql = new Sql();
  const organization = sql.value(query.organizationId);
  const server = sql.value(query.serverId);
  const { accountNumber, requestId, idempotencyKey, status } = query;
  const narrow = [accountNumber, requestId, idempotencyKey].some((filter) => filter !== undefined);
  if (narrow || (status !== undefined && status !== "succeeded")) {
    const owned = ownedBy(organization, server);
    const listed = conditions(sql, query, organization, server);
    const text = `select case when ${owned} then (select count(*) from commands_by_month where ${listed}) else 0 end as total`;
    return database.query(prepared<Total>("count_commands", sql, text), sql.values);
  }
  const listed = counted(sql, query, organization, server);
  if (status === undefined)
    return database.query(prepared<Total>("counted_commands", sql, `select ${listed} as total`), sql.values);
  // What succeeded is everything but the rest, and the rest is little.
  sql.parts.push("succeeded");
  const others = (["queued", "leased", "failed", "expired"] as const).map((other) => {
    const rest = conditions(new NamelessSql(sql), { ...query, status: other }, organization, server);
    return `(select count(*) from commands_by_month where ${rest})`;
  });
  const owned = ownedBy(organization, server);
  const text = `select case when ${owned} then ${listed} - ${others.join(" - ")} else 0 end as total`;
  return database.query(prepared<Total>("counted_commands", sql, text), sql.values);
}

/** Adds its values to another one's, and nothing to its name. */
class NamelessSql extends Sql {
  override readonly values: unknown[];

  constructor(outer: Sql) {
    super();
    this.values = outer.values;
  }
}

/**
 * The number of commands that the filters of operation and time leave, from the counters of whole
 * days.
 */
function counted(sql: Sql, query: CommandListQuery, organization: string, server: string): string {
  const { operation, from, to } = query;
  const { days, head, tail } = daySpansOf(spanOf(query));
  const ofOperation = operation === undefined ? "" : ` and operation = ${sql.value(operation)}`;
  if (operation !== undefined) sql.parts.push("operation");
  const ofDays =
    from === undefined && to === undefined
      ? ""
      : ` and day >= ${sql.value(dayOf(days.from))}::date and day < ${sql.value(dayOf(days.before))}::date`;
  const whole = `(select coalesce(sum(commands), 0)::bigint from command_counts_by_month
    where organization_id = ${organization} and server_id = ${server}${ofDays}${ofOperation})`;
  if (ofDays === "") return whole;
  // The texts of other states beside it (see `totalOf`) depend on which of the two is given.
  if (from !== undefined) sql.parts.push("from");
  if (to !== undefined) sql.parts.push("to");
  const owned = ownedBy(organization, server);
  const ends = [head, tail].map(
    (end) => `(select count(*) from commands_by_month where server_id = ${server} and created_at is not null
      and created_at >= ${sql.value(end.from)}::timestamptz and created_at < ${sql.value(end.before)}::timestamptz${ofOperation})`,
  );
  return `case when ${owned} then ${[whole, ...ends].join(" + ")} else 0 end`;
}

/** Whether the server is the organization's: asked once, so that a count itself reads no rows. */
function ownedBy(organization: string, server: string): string {
  return `exists (select from command_counts_by_month where organization_id = ${organization} and server_id = ${server})`;
}

/** The date of a day's beginning, or the infinity it is. */
function dayOf(start: string): string {
  return start.slice(0, "2026-01-01".length);
}

/** The conditions of the query; the states stand in the text where an index is for them alone. */
function conditions(sql: Sql, query: CommandListQuery, organization: string, server: string): string {
  const { accountNumber, requestId, idempotencyKey, status, operation, from, to } = query;
  const all = [`server_id = ${server}`, "created_at is not null"];
  const add = (name: string, condition: string): void => {
    sql.parts.push(name);
    all.push(condition);
  };
  if (idempotencyKey !== undefined) {
    const commandId = `${sql.value(commandIdOf(query.organizationId, idempotencyKey))}::uuid`;
    const month = `select month from command_ids where command_id = ${commandId}`;
    add("key", `month = coalesce((${month}), ${OLD_PLACE}) and command_id = ${commandId}`);
  }
  if (requestId !== undefined) add("request", `request_id = ${sql.value(requestId)}`);
  if (accountNumber !== undefined) add("account", `account_number = ${sql.value(accountNumber)}`);
  if (status === "queued" || status === "leased") {
    add(status, `organization_id = ${organization} and status in ('queued', 'leased') and status = '${status}'`);
  } else if (status === "failed" || status === "expired") {
    add(status, `status in ('failed', 'expired') and status = '${status}'`);
  } else if (status !== undefined) add(status, `status = '${status}'`);
  if (operation !== undefined) add("operation", `operation = ${sql.value(operation)}`);
  const span = spanOf({ from, to });
  if (from !== undefined) add("from", `created_at >= ${sql.value(span.from)}::timestamptz`);
  if (to !== undefined) add("to", `created_at < ${sql.value(span.before)}::timestamptz`);
  return all.join(" and ");
}

/** Which commands have ended, by their keys. */
export function createCommandEnds(database: Database): CommandEnds {
  return {
    finalAmong: async (commandIds) =>
      (await database.query(FINAL_AMONG, [commandIds])).map(({ command_id: commandId }) => commandId),
  };
}
