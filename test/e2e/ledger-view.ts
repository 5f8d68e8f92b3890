import pg from "pg";

/** A row of the ledger table, as tests read it. */
export interface LedgerView {
  readonly sequence: number;
  readonly type: string;
  readonly amountMinor: number;
  readonly commandId: string | null;
}

/** Reads the ledger of an account directly from PostgreSQL, in sequence order. */
export async function readLedger(postgresUrl: string, serverId: string, accountNumber: string): Promise<LedgerView[]> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ sequence: string; type: string; amount_minor: string; command_id: string }>(
      `select sequence, type, amount_minor, command_id from finance.transactions
       where server_id = $1 and account_number = $2 order by sequence`,
      [serverId, accountNumber],
    );
    return rows.map((row) => ({
      sequence: Number(row.sequence),
      type: row.type,
      amountMinor: Number(row.amount_minor),
      commandId: row.command_id,
    }));
  } finally {
    await client.end();
  }
}
