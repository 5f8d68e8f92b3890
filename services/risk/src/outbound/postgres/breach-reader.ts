/** Reads breaches in PostgreSQL: those of an account, and those of several servers. */
import { column } from "@kapi/commands";
import { type Database, instantText, statement } from "@kapi/postgres";

import type { FindBreach, ReadBreach, ReadBreaches, ReadRecentBreaches } from "../../domain/ports.ts";
import { BREACH_COLUMNS, breachFromRow, type BreachRow } from "./breach-row.ts";

interface ListedRow extends BreachRow {
  readonly instant: string;
}

// $1 server, $2 number, $3 from, $4 to, $5 rule id; null: no filter.
const MATCHES = `a.server_id = $1 and a.account_number = $2 and a.kind = 'breached'
  and a.measured_at >= coalesce($3::timestamptz, '-infinity') and a.measured_at < coalesce($4::timestamptz, 'infinity')
  and ($5::text is null or a.rule_id = $5)`;
const COUNT = statement<{ total: number }>(
  "risk-count-breaches",
  `select count(*)::int as total from alerts a where ${MATCHES}`,
);
// $6 and $7: the key of the last breach before the page, or null. $8 limit, $9 offset.
const PAGE = statement<ListedRow>(
  "risk-list-breaches",
  `select ${BREACH_COLUMNS}, ${instantText("a.measured_at")} as instant
   from alerts a left join evidence e on e.breach_id = a.id where ${MATCHES}
     and ($6::timestamptz is null or (a.measured_at, a.id) < ($6::timestamptz, $7::uuid))
   order by a.measured_at desc, a.id desc limit $8 offset $9`,
);

// $1 server, $2 number, $3 id.
const ONE = statement<BreachRow>(
  "risk-read-breach",
  `select ${BREACH_COLUMNS} from alerts a left join evidence e on e.breach_id = a.id
   where a.server_id = $1 and a.account_number = $2 and a.id = $3 and a.kind = 'breached'`,
);

// $1 servers, $2 id: the primary key.
const FIND = statement<BreachRow>(
  "risk-find-breach",
  `select ${BREACH_COLUMNS} from alerts a left join evidence e on e.breach_id = a.id
   where a.id = $2 and a.server_id = any($1::uuid[]) and a.kind = 'breached'`,
);

/** Reads a page of the breaches of an account, newest first; `total` counts those of all pages. */
export function createBreachReader(database: Database): ReadBreaches {
  return async ({ serverId, accountNumber }, { from, to, ruleId }, { limit, offset, after }) => {
    const filters = [serverId, accountNumber, from ?? null, to ?? null, ruleId ?? null];
    const [counted, rows] = await Promise.all([
      database.query(COUNT, filters),
      database.query(PAGE, [...filters, after?.[0] ?? null, after?.[1] ?? null, limit + 1, offset]),
    ]);
    return {
      total: counted[0]?.total ?? 0,
      rows: rows.map((row) => ({ breach: breachFromRow(row), key: [row.instant, row.id] })),
    };
  };
}

/** Reads a breach of an account by its id; null if the account has no such breach. */
export function createSingleBreachReader(database: Database): ReadBreach {
  return async ({ serverId, accountNumber }, breachId) => {
    const [row] = await database.query(ONE, [serverId, accountNumber, breachId]);
    return row === undefined ? null : breachFromRow(row);
  };
}

/** Finds a breach by its id on any of several servers; null if none of them has this breach. */
export function createBreachFinder(database: Database): FindBreach {
  return async (serverIds, breachId) => {
    const [row] = await database.query(FIND, [serverIds, breachId]);
    return row === undefined ? null : breachFromRow(row);
  };
}

// $1 servers, $2 from.
const RECENT = `a.server_id = any($1::uuid[]) and a.kind = 'breached' and a.measured_at >= $2::timestamptz`;
const COUNT_RECENT = statement<{ total: number }>(
  "risk-count-recent-breaches",
  `select count(*)::int as total from alerts a where ${RECENT}`,
);
// $3 limit, $4 and $5: the key of the last breach before the page, or null.
const LIST_RECENT = statement<ListedRow>(
  "risk-list-recent-breaches",
  `select ${BREACH_COLUMNS}, ${instantText("a.measured_at")} as instant
   from alerts a left join evidence e on e.breach_id = a.id where ${RECENT}
     and ($4::timestamptz is null or (a.measured_at, a.id) < ($4::timestamptz, $5::uuid))
   order by a.measured_at desc, a.id desc limit $3`,
);

/** Reads a page of the breaches of servers, newest first; `total` counts those of all pages. */
export function createRecentBreachReader(database: Database): ReadRecentBreaches {
  return async (serverIds, from, after, limit) => {
    const filters = [column(serverIds), from];
    const [counted, rows] = await Promise.all([
      database.query(COUNT_RECENT, filters),
      database.query(LIST_RECENT, [...filters, limit + 1, after?.measuredAt ?? null, after?.id ?? null]),
    ]);
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    return {
      total: counted[0]?.total ?? 0,
      breaches: shown.map(breachFromRow),
      next: last === undefined ? null : { measuredAt: last.instant, id: last.id },
    };
  };
}
