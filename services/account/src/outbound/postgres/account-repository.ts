import { column, type WorkTransaction } from "@kapi/commands";
import { type Database, statement } from "@kapi/postgres";

import type { ChangedAccount } from "../../domain/account-change.ts";
import { startsOf, type StoredStatus } from "../../domain/account-status.ts";
import type { Account } from "../../domain/account.ts";
import type { AccountRepository, FinishedCommand } from "../../domain/ports.ts";
import { countMoves } from "./account-counts.ts";
import { ACCOUNT_COLUMNS, ACCOUNT_COLUMNS_OF_A, type AccountRow, fromRow, IN_LOCK_ORDER } from "./account-row.ts";

// $1 server id, $2 account numbers, $3 command ids, $4 statuses. Pending and deleting accounts keep
// their `running_command`, because a deletion must first learn the outcome of this command: the
// creation of a pending account, or the last command of a deleting account.
const BEGIN = statement<AccountRow>(
  "account-begin-commands",
  `with begun as materialized (
     select a.id, begun.command_id
     from unnest($2::text[], $3::uuid[]) as begun(account_number, command_id)
     join accounts a on a.server_id = $1 and a.account_number = begun.account_number
     where a.status = any($4::text[])
     ${IN_LOCK_ORDER}
   )
   update accounts a set running_command = begun.command_id from begun where a.id = begun.id
   returning ${ACCOUNT_COLUMNS_OF_A}`,
);
/** $1 account ids. */
const LOCK_BY_ID = statement<never>(
  "account-lock-by-id",
  `select from accounts a where a.id = any($1::uuid[]) ${IN_LOCK_ORDER}`,
);
const SELECT_BY_NUMBER = statement<AccountRow>(
  "account-select-by-number",
  `select ${ACCOUNT_COLUMNS} from accounts where server_id = $1 and account_number = any($2::text[])`,
);
// $1 to $10, one array each: server id, account number, command id, whether the trading server
// changed something, time, name, leverage, status, reason of the status, kind of password. $11: the
// statuses in which an account is changed.
const END = statement<AccountRow & { command_id: string; changed: boolean; moved_from: StoredStatus }>(
  "account-end-commands",
  `with ended as materialized (
     select a.id, a.status as moved_from, e.command_id, e.at, e.password_kind,
       coalesce(e.account_name, a.account_name) as account_name,
       coalesce(e.leverage, a.leverage) as leverage,
       coalesce(e.status, a.status) as status,
       e.status as moved_to, e.status_reason,
       e.made or e.account_name <> a.account_name or e.leverage <> a.leverage or e.status <> a.status as changed
     from unnest($1::uuid[], $2::text[], $3::uuid[], $4::boolean[], $5::timestamptz[], $6::text[], $7::integer[], $8::text[],
                 $9::text[], $10::text[])
       as e(server_id, account_number, command_id, made, at, account_name, leverage, status, status_reason,
            password_kind)
     join accounts a on a.server_id = e.server_id and a.account_number = e.account_number
     where a.status = any($11::text[])
     ${IN_LOCK_ORDER}
   )
   update accounts a set
     account_name = e.account_name, leverage = e.leverage, status = e.status,
     status_reason =
       case when e.changed and e.moved_to is not null then e.status_reason else a.status_reason end,
     version = a.version + case when e.changed then 1 else 0 end,
     updated_at = case when e.changed then e.at else a.updated_at end,
     activated_at = case when e.changed and e.moved_to = 'active' then e.at else a.activated_at end,
     disabled_at = case when e.changed and e.moved_to = 'disabled' then e.at else a.disabled_at end,
     archived_at = case when e.changed and e.moved_to = 'archived' then e.at else a.archived_at end,
     trading_password_changed_at =
       case when e.password_kind = 'trading' then e.at else a.trading_password_changed_at end,
     investor_password_changed_at =
       case when e.password_kind = 'investor' then e.at else a.investor_password_changed_at end
   from ended e where a.id = e.id
   returning ${ACCOUNT_COLUMNS_OF_A}, e.command_id, e.moved_from, coalesce(e.changed, false) as changed`,
);

/** The statuses in which a command can have an effect. A queued deletion can start from them. */
const LIVING = startsOf("startDeletion");

/** Accounts in PostgreSQL. */
export function createAccountRepository(database: Database): AccountRepository {
  const read: AccountRepository["read"] = async (serverId, accountNumbers) => {
    const rows = await database.query(SELECT_BY_NUMBER, [serverId, column(accountNumbers)]);
    return inOrder(rows.map(fromRow), accountNumbers);
  };
  return {
    lock: (transaction, accountIds) => transaction.execute(LOCK_BY_ID, [column(accountIds)]),
    read,
    async startCommands(serverId, commands) {
      const numbers = commands.map(({ accountNumber }) => accountNumber);
      const ids = commands.map(({ commandId }) => commandId);
      const begun = await database.query(BEGIN, [serverId, column(numbers), column(ids), column(LIVING)]);
      const accounts = begun.map(fromRow);
      if (accounts.length === commands.length) return inOrder(accounts, numbers);
      const noted = new Set(accounts.map(({ accountNumber }) => accountNumber));
      const others = await read(
        serverId,
        numbers.filter((accountNumber) => !noted.has(accountNumber)),
      );
      return inOrder([...accounts, ...others.filter((account) => account !== null)], numbers);
    },
    finishCommands,
  };
}

async function finishCommands(
  transaction: WorkTransaction,
  commands: readonly FinishedCommand[],
): Promise<ReadonlyMap<string, ChangedAccount>> {
  const effects = commands.flatMap((command) =>
    command.effect === null ? [] : [{ ...command, effect: command.effect }],
  );
  if (effects.length === 0) return new Map();
  const rows = await transaction.query(END, [
    column(effects.map(({ serverId }) => serverId)),
    column(effects.map(({ accountNumber }) => accountNumber)),
    column(effects.map(({ commandId }) => commandId)),
    column(effects.map(({ effect }) => String(effect.made))),
    column(effects.map(({ effect }) => effect.at)),
    column(effects.map(({ effect }) => effect.accountName ?? null)),
    column(effects.map(({ effect }) => effect.leverage ?? null)),
    column(effects.map(({ effect }) => effect.status ?? null)),
    column(effects.map(({ effect }) => effect.statusReason ?? null)),
    column(effects.map(({ effect }) => effect.passwordKind ?? null)),
    column(LIVING),
  ]);
  await countMoves(
    transaction,
    rows.map((row) => ({ serverId: row.server_id, from: row.moved_from, to: row.status })),
  );
  return new Map(rows.map((row) => [row.command_id, { account: fromRow(row), changed: row.changed }]));
}

function inOrder(accounts: readonly Account[], accountNumbers: readonly string[]): (Account | null)[] {
  const byNumber = new Map(accounts.map((account) => [account.accountNumber, account]));
  return accountNumbers.map((accountNumber) => byNumber.get(accountNumber) ?? null);
}
