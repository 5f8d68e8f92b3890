import pg from "pg";

/** Minutes between two stored values, and the length of the history in days. */
const EVERY_MINUTES = 10;
const DAYS = 30;

/**
 * Stores 30 days of equity of an account around a balance of 10,000, as if the account had traded.
 * Five days ago, the lowest equity of one minute was 9,000.
 */
export async function storeEquity(
  postgresUrl: string,
  { serverId, accountNumber }: { readonly serverId: string; readonly accountNumber: string },
): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl, options: "-c search_path=metrics" });
  await client.connect();
  try {
    await client.query(
      `insert into account_metric_snapshots (server_id, account_number, measured_at, sequence, balance_minor,
         equity_minor, margin_minor, free_margin_minor, margin_level, daily_drawdown, total_drawdown, account_status,
         created_at, lowest_equity_minor, highest_equity_minor)
       select $1, $2, at, 0, 1000000, equity, 0, equity, 0, 0, 0, 'active', at,
         case when number = $3 then 900000 else equity - 500 end, equity + 500
       from generate_series(1, $4::integer) as number,
         lateral (select date_trunc('minute', now()) - make_interval(mins => number * $5::integer) as at,
           1000000 + round(30000 * sin(number / 90.0) + 8000 * sin(number / 7.0) - 20000)::bigint as equity) as minute`,
      [serverId, accountNumber, (5 * 24 * 60) / EVERY_MINUTES, (DAYS * 24 * 60) / EVERY_MINUTES - 1, EVERY_MINUTES],
    );
  } finally {
    await client.end();
  }
}
