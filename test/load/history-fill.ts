/** Fills the schema of the account service with the rows that the service would write. */
import { Client } from "pg";

/** Accounts of the server. */
export const ACCOUNTS = 100_000;
/** Deals in the schema. There are as many orders, and half as many positions. */
export const DEALS = 1_000_000;
/**
 * Deals of the busy account. Every twentieth row belongs to this account, so its rows lie between
 * the rows of other accounts, as when all accounts trade in the same period.
 */
export const DEALS_OF_ONE = 50_000;
/** Number of accounts that share the other deals equally. */
const TRADING_ACCOUNTS = 9_500;
const ONE_IN = DEALS / DEALS_OF_ONE;
/** Rows of one statement. */
const BATCH = 100_000;
const FIRST_NUMBER = 20_000_000;

/** The account that has {@link DEALS_OF_ONE} deals. */
export const BUSY_ACCOUNT = String(FIRST_NUMBER);

// $1 server, $2 organization, $3 number of accounts, $4 first account number.
const INSERT_ACCOUNTS = `insert into accounts (id, organization_id, server_id, account_number, account_name, status,
    currency, leverage, initial_balance_minor, created_at, updated_at, activated_at)
  select gen_random_uuid(), $2, $1, ($4 + i)::text, 'Bench ' || i, 'active', 'USD', 100, 1000000, at, at, at
  from (select i, timestamptz '2026-01-01' + i * interval '1 second' as at from generate_series(0, $3::int - 1) i) s`;

const INSERT_COUNTS = "insert into account_counts (server_id, status, accounts) values ($1, 'active', $2)";

// $1 server, $2 and $3 first and last row, $4 first account number, $5 every $5th row belongs to
// the busy account, $6 number of other accounts. `n` numbers the rows of each account.
const ROWS = `with rows as (
    select $1::uuid as server_id, timestamptz '2026-02-01' + i * interval '1 second' as at, gen_random_uuid()::text as id,
      case when i % $5::int = 0 then $4::bigint else $4::bigint + 1 + other % $6::int end::text as account_number,
      case when i % $5::int = 0 then i / $5::int else other / $6::int + 1 end as n
    from (select i, i - i / $5::int - 1 as other from generate_series($2::int, $3::int) i) s
  )`;
const INSERT_ORDERS = `${ROWS} insert into orders
  (server_id, account_number, id, n, symbol, side, order_type, volume, status, created_at, executed_at)
  select server_id, account_number, id, n, 'EURUSD', 'buy', 'market', 0.1, 'executed', at, at from rows`;
const INSERT_DEALS = `${ROWS} insert into deals (server_id, account_number, id, n, order_id, position_id, symbol, side,
    kind, volume, price, commission_minor, realized_pnl_minor, swap_minor, executed_at)
  select server_id, account_number, id, n, gen_random_uuid()::text, gen_random_uuid()::text, 'EURUSD', 'buy',
    case when n % 2 = 1 then 'entry' else 'exit' end, 0.1, 1.23456, -7, n % 2000 - 1000, 0, at from rows`;
const INSERT_POSITIONS = `${ROWS} insert into positions (server_id, account_number, id, n, order_id, symbol, side, volume,
    open_price, status, opened_at, closed_at, opened_volume)
  select server_id, account_number, id, (n + 1) / 2, gen_random_uuid()::text, 'EURUSD', 'buy', 0.1, 1.23456, 'closed', at,
    at + interval '1 minute', 0.1 from rows where n % 2 = 1`;
const INSERT_FEEDS = `insert into feeds (server_id, account_number, booked_sequence, order_count, position_count,
    open_position_count, deal_count)
  select server_id, account_number, 3 * max(n), max(n), (max(n) + 1) / 2, 0, max(n) from deals group by 1, 2`;

interface FilledServer {
  readonly serverId: string;
  readonly organizationId: string;
}

/** A connection to the schema of the account service. */
export async function connectToAccounts(postgresUrl: string): Promise<Client> {
  const client = new Client({ connectionString: postgresUrl, options: "-c search_path=account" });
  await client.connect();
  return client;
}

/** Adds `count` accounts to an existing server. */
export async function fillAccounts(client: Client, server: FilledServer, count: number): Promise<void> {
  await client.query(INSERT_ACCOUNTS, [server.serverId, server.organizationId, count, FIRST_NUMBER]);
  await client.query(INSERT_COUNTS, [server.serverId, count]);
}

/** Fills the schema for an existing server. */
export async function fillHistory(postgresUrl: string, server: FilledServer): Promise<void> {
  const client = await connectToAccounts(postgresUrl);
  try {
    await fillAccounts(client, server, ACCOUNTS);
    for (let first = 1; first <= DEALS; first += BATCH) {
      const values = [server.serverId, first, first + BATCH - 1, FIRST_NUMBER, ONE_IN, TRADING_ACCOUNTS];
      for (const text of [INSERT_ORDERS, INSERT_DEALS, INSERT_POSITIONS]) await client.query(text, values);
    }
    await client.query(INSERT_FEEDS);
    for (const table of ["accounts", "account_counts", "feeds", "orders", "positions", "deals"])
      await client.query(`analyze ${table}`);
  } finally {
    await client.end();
  }
}
