import { type Queryable, type Statement, statement } from "@kapi/postgres";

const AGE: Statement<{ seconds: number }> = statement(
  "outbox_age",
  `select extract(epoch from clock_timestamp() - created_at)::float8 as seconds from outbox order by id limit 1`,
);

/** Age of the oldest row of the outbox, in seconds; 0 without a row. */
export async function outboxAge(database: Queryable): Promise<number> {
  return (await database.query(AGE, []))[0]?.seconds ?? 0;
}
