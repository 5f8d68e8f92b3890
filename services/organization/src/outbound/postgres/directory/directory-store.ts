import type { PricesEntry } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";
import { type Database, statement } from "@kapi/postgres";

import type { AuditTransaction } from "../../../domain/audit.ts";
import type { DirectoryStore, DirectoryTransaction } from "../../../domain/directory/ports.ts";
import { announce } from "./announce.ts";
import { keyStore, keyTransaction, readKeyEntries } from "./keys.ts";
import { organizationStore, organizationTransaction } from "./organizations.ts";
import { readServerEntries, serverStore, serverTransaction } from "./servers.ts";

type PricesRow = Omit<PricesEntry, "kind">;

const UPSERT_PRICES_ROW = statement<PricesRow>(
  "directory_upsert_prices",
  `insert into prices (prices, version) values ($1, 1)
   on conflict (the_only) do update set prices = excluded.prices, version = prices.version + 1
   returning prices, version`,
);
const SELECT_PRICES_ROWS = statement<PricesRow>("directory_select_prices", `select prices, version from prices`);

/** Reads of the directory from PostgreSQL. */
export function directoryStore(database: Database): Omit<DirectoryStore, "transaction"> {
  return {
    ...organizationStore(database),
    ...keyStore(database),
    ...serverStore(database),
    readDirectory: async function* () {
      yield (await database.query(SELECT_PRICES_ROWS, [])).map(pricesFromRow);
      yield* readServerEntries(database);
      yield* readKeyEntries(database);
    },
  };
}

/** The directory's part of a transaction. It announces keys, servers and prices in the outbox. */
export function directoryTransaction(tx: OutboxTransaction): Omit<DirectoryTransaction, keyof AuditTransaction> {
  return {
    ...organizationTransaction(tx),
    ...keyTransaction(tx),
    ...serverTransaction(tx),
    setPrices: async (prices) => {
      const [row] = await tx.query(UPSERT_PRICES_ROW, [JSON.stringify(prices)]);
      if (row) announce(tx, pricesFromRow(row));
    },
  };
}

function pricesFromRow(row: PricesRow): PricesEntry {
  return { kind: "prices", ...row };
}
