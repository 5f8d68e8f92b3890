import { cursorPage, listScope, MAX_BULK_ITEMS, pageStart, type PageStart } from "@kapi/contracts";
import { assertDefined, commandIdOf } from "@kapi/kernel";
import { type Database, type Statement, statement } from "@kapi/postgres";

import { type CommandListQuery, dayRangesOf, PREFIX_MATCHES, timeRangeOf } from "../../domain/command-list.ts";
import { type FinalCommandRepository, type CommandLists, TooManyMatches } from "../../domain/ports.ts";
import { REQUESTED_COMMANDS, detailsOf, OLD_MONTH } from "./command-details.ts";
import { COMMAND_COLUMNS, type CommandRow, fromRow, lacksResult, largeResults } from "./command-row.ts";

/**
 * Lists of a server's commands. The statement of a list has only the conditions that its query
 * gives, so that no plan has to serve absent filters. There are fewer than 6,400 such statements.
 *
 * A page is found in the index of its filter, in all months; then its rows are read. `total` comes
 * from the counters (`command_counts_by_month`) where they suffice, else from a count in the index
 * of the filter.
 */

const FIND_FINAL = statement<{ command_id: string }>(
  "final_commands_among",
  `select known.asked_id as command_id from ${REQUESTED_COMMANDS}
   where coalesce(commands.status, known.status, 'succeeded') in ('succeeded', 'failed', 'expired')
     and coalesce(commands.created_at, known.created_at) is not null`,
);

/** $1 server, $2 first key, $3 key after the last one, $4 limit. */
const COUNT_KEYS = statement<Total>(
  "count_keys_from",
  `select count(*) as total from (
     select from command_ids where server_id = $1 and idempotency_key ~>=~ $2::text and idempotency_key ~<~ $3::text
     limit $4
   ) as found`,
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
      const { idempotencyKeyPrefix: prefix, serverId } = query;
      if (prefix !== undefined) await assertFewMatches(database, serverId, prefix);
      const [counted] = await totalOf(database, query);
      const { total } = assertDefined(counted, "a count");
      const start = pageStart("commands", query);
      const read = { rows: start.offset < total ? await pageOf(database, query, start) : [], total };
      const { rows, pagination } = cursorPage("commands", listScope({ serverId }), start, read, (row) => [
        row.listed_at,
        row.command_id,
      ]);
      const largeBytes = rows.filter(lacksResult).reduce((bytes, row) => bytes + row.result_bytes, 0);
      return { pagination, largeBytes, commands: rendered(database, rows) };
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

/** Reads a page, and one command more, which shows whether another page follows. */
function pageOf(
  database: Database,
  query: CommandListQuery,
  { after, limit, offset }: PageStart<"commands">,
): Promise<CommandRow[]> {
  const sql = new Sql();
  const { organizationId, serverId } = query;
  const all = [conditions(sql, query, sql.value(organizationId), sql.value(serverId))];
  if (after !== null) {
    sql.parts.push("after");
    all.push(`(created_at, command_id) < (${sql.value(after[0])}::timestamptz, ${sql.value(after[1])}::uuid)`);
  }
  const text = `
    with page as (
      select command_id from ${listedTable(sql, query)} where ${all.join(" and ")}
      order by created_at desc, command_id desc
      limit ${sql.value(limit + 1)} offset ${sql.value(offset)}
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
  const { accountNumber, requestId, idempotencyKey, bulkIdempotencyKey, idempotencyKeyPrefix, status } = query;
  const keys = [idempotencyKey, bulkIdempotencyKey, idempotencyKeyPrefix];
  const narrow = [accountNumber, requestId, ...keys].some((filter) => filter !== undefined);
  if (narrow || (status !== undefined && status !== "succeeded")) {
    const owned = ownedBy(organization, server);
    const listed = conditions(sql, query, organization, server);
    const text = `select case when ${owned} then (select count(*) from ${listedTable(sql, query)} where ${listed}) else 0 end as total`;
    return database.query(prepared<Total>("count_commands", sql, text), sql.values);
  }
  const listed = counted(sql, query, organization, server);
  if (status === undefined)
    return database.query(prepared<Total>("counted_commands", sql, `select ${listed} as total`), sql.values);
  // Nearly all commands have succeeded: counting the other states is cheaper.
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
 * SQL for the number of commands that match operation and time, from the counters of whole days,
 * and the rows of the partial days at both ends.
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
  // In `totalOf`, each bound adds a condition to the counts of the other states. Statements with
  // different conditions need different names.
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
 * SQL for whether the organization owns the server. It replaces a condition on the organization in
 * a count, so the count reads only an index.
 */
function ownedBy(organization: string, server: string): string {
  return `exists (select from command_counts_by_month where organization_id = ${organization} and server_id = ${server})`;
}

/** The date of a start of day; an infinity is returned as it is. */
function dayOf(start: string): string {
  return start.slice(0, "2026-01-01".length);
}

/** The columns that a list is found by. */
const LISTED_COLUMNS =
  "commands.month, commands.command_id, commands.organization_id, commands.server_id, commands.account_number, " +
  "commands.operation, commands.request_id, commands.created_at, commands.status";

/**
 * SQL for the table of the list: the commands whose keys begin with the prefix, or all. Commands
 * with the prefix are looked up one by one, by month and id: `offset 0` excludes other plans.
 */
function listedTable(sql: Sql, { serverId, idempotencyKeyPrefix: prefix }: CommandListQuery): string {
  if (prefix === undefined) return "commands_by_month";
  sql.parts.push("prefix");
  const [server, first, end] = [serverId, ...keysFrom(prefix)].map((value) => sql.value(value));
  return `(
    select ${LISTED_COLUMNS} from (
      select command_id, month from command_ids
      where server_id = ${server}::uuid and idempotency_key ~>=~ ${first}::text and idempotency_key ~<~ ${end}::text
      limit ${PREFIX_MATCHES}
    ) as known
      cross join lateral (
        select ${LISTED_COLUMNS} from commands_by_month as commands
        where commands.month = known.month and commands.command_id = known.command_id offset 0
      ) as commands
  ) as of_prefix`;
}

/**
 * The first text that begins with `prefix`, and a text after the last one, by code points. Keys are
 * values of HTTP headers, which have no character above U+00FF.
 */
function keysFrom(prefix: string): [string, string] {
  return [prefix, `${prefix}\u{10FFFF}`];
}

/** @throws TooManyMatches */
async function assertFewMatches(database: Database, serverId: string, prefix: string): Promise<void> {
  const [found] = await database.query(COUNT_KEYS, [serverId, ...keysFrom(prefix), PREFIX_MATCHES + 1]);
  if (assertDefined(found, "a count").total > PREFIX_MATCHES) throw new TooManyMatches();
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

/** The ids of all commands that a bulk with this key can have. */
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
