import { useApi } from "../../../api/context.ts";
import type { Transaction, TransactionType } from "../../../api/shapes.ts";
import { ActorName, type ActorNames, useActorNames } from "../../../parts/actor.tsx";
import { type Column, Table } from "../../../parts/table.tsx";
import { CommandLink, Moment, Money, Nothing } from "../../../parts/values.tsx";
import { Link } from "../../../router.tsx";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import { ShortId } from "./short-id.tsx";
import { tabPath } from "./tab-links.ts";
import type { TabProps } from "./tab-props.ts";

/** Every type of transaction, with its name. The TypeScript type ensures that none is missing. */
const TYPES: Readonly<Record<TransactionType, string>> = {
  deposit: "Deposit",
  withdrawal: "Withdrawal",
  realized_pnl: "Realized profit",
  commission: "Commission",
  swap: "Swap",
  initial_balance: "Initial balance",
  adjustment: "Adjustment",
  reversal: "Reversal",
};

const FILTERS: readonly RecordFilter[] = [
  { field: "type", label: "Type", options: Object.entries(TYPES) },
  { field: "requestId", label: "Request id" },
  { field: "commandId", label: "command", options: null },
  { field: "dealId", label: "deal", options: null },
];

/** The transactions of an account, newest first. */
export function TransactionsTab({ account, round }: TabProps) {
  const { lists } = useApi();
  return (
    <RecordList
      what={["transaction", "transactions"]}
      filters={FILTERS}
      time="exclusive"
      round={round}
      load={async (query, signal) => {
        const { transactions: rows, pagination } = await lists.page("transactions", account, query, signal);
        return { rows, ...pagination };
      }}
      csv={(query) => lists.csv("transactions", account, query)}
      empty="Nothing has changed the balance of this account yet. A deposit appears here after it is booked."
    >
      {(rows) => <Transactions account={account} rows={rows} />}
    </RecordList>
  );
}

function Transactions({ account, rows }: Pick<TabProps, "account"> & { readonly rows: readonly Transaction[] }) {
  const names = useActorNames(rows.map(({ createdBy }) => createdBy));
  return (
    <Table
      caption="Transactions, newest first"
      columns={columnsOf(account, names)}
      rows={rows}
      keyOf={({ id }) => id}
    />
  );
}

interface OriginProps extends Pick<TabProps, "account"> {
  readonly transaction: Transaction;
}

/** What caused a transaction: a command, or a deal of a position. */
function Origin({ account, transaction: { commandId, positionId } }: OriginProps) {
  if (commandId !== null) {
    return (
      <CommandLink serverId={account.serverId} commandId={commandId}>
        Command
      </CommandLink>
    );
  }
  if (positionId === null) return <Nothing />;
  return (
    <Link to={tabPath(account, "deals", { positionId })}>
      Position <ShortId id={positionId} />
    </Link>
  );
}

function columnsOf(account: TabProps["account"], names: ActorNames): readonly Column<Transaction>[] {
  return [
    {
      head: "Transaction",
      cell: ({ type, description }) => (
        <>
          {TYPES[type]}
          {description === null ? null : <span class="under">{description}</span>}
        </>
      ),
    },
    {
      head: "Amount",
      numeric: true,
      cell: ({ amount, currency }) => <Money amount={amount} currency={currency} change />,
    },
    {
      head: "Balance after",
      numeric: true,
      cell: ({ balanceAfter, currency }) => <Money amount={balanceAfter} currency={currency} />,
    },
    { head: "By", cell: ({ createdBy }) => <ActorName of={createdBy} names={names} /> },
    { head: "From", cell: (transaction) => <Origin account={account} transaction={transaction} /> },
    { head: "Request id", cell: ({ requestId }) => (requestId === null ? <Nothing /> : <code>{requestId}</code>) },
    { head: "Recorded", cell: ({ recordedAt }) => <Moment at={recordedAt} /> },
  ];
}
