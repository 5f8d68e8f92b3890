import type { PageQuery } from "@kapi/contracts";
import type { Queryable, Statement } from "@kapi/postgres";

import type { Page } from "../../../domain/directory/ports.ts";

/**
 * Reads a page. `count` takes `values`; `select` takes `values`, the limit and the offset.
 */
export async function readPage<Row, Item>(
  database: Queryable,
  { select, count, from }: PageStatements<Row, Item>,
  values: readonly unknown[],
  { page, limit }: PageQuery,
): Promise<Page<Item>> {
  const [rows, [counted]] = await Promise.all([
    database.query(select, [...values, limit, (page - 1) * limit]),
    database.query(count, values),
  ]);
  return { rows: rows.map(from), total: counted?.total ?? 0 };
}

interface PageStatements<Row, Item> {
  readonly select: Statement<Row>;
  readonly count: Statement<{ total: number }>;
  readonly from: (row: Row) => Item;
}
