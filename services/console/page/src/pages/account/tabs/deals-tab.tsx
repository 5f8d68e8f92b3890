import { useApi } from "../../../api/context.ts";
import type { Deal } from "../../../api/shapes.ts";
import { decimal } from "../../../format.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { Moment, Money } from "../../../parts/values.tsx";
import { Link } from "../../../router.tsx";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import { ShortId } from "./short-id.tsx";
import { tabPath } from "./tab-links.ts";
import { SIDES, type TabProps } from "./tab-props.ts";

const FILTERS: readonly RecordFilter[] = [
  { field: "symbol", label: "Symbol" },
  { field: "side", label: "Side", options: SIDES },
  {
    field: "kind",
    label: "Kind",
    options: [
      ["entry", "Entry"],
      ["exit", "Exit"],
      ["partial_close", "Partial close"],
    ],
  },
  { field: "positionId", label: "position", options: null },
  { field: "orderId", label: "order", options: null },
];

/** The deals of an account, newest first. */
export function DealsTab({ account, currency, round }: TabProps) {
  const { lists } = useApi();
  return (
    <RecordList
      what={["deal", "deals"]}
      filters={FILTERS}
      time="exclusive"
      round={round}
      load={async (query, signal) => {
        const { deals: rows, pagination } = await lists.page("deals", account, query, signal);
        return { rows, ...pagination };
      }}
      csv={(query) => lists.csv("deals", account, query)}
      empty="This account has no deals yet. A deal appears here when an order is executed."
    >
      {(rows) => (
        <Table
          caption="Deals, newest first"
          columns={columnsOf(account, currency)}
          rows={rows}
          keyOf={({ id }) => id}
        />
      )}
    </RecordList>
  );
}

function columnsOf(account: TabProps["account"], currency: string): readonly Column<Deal>[] {
  return [
    {
      head: "Deal",
      cell: ({ id }) => (
        <Link to={tabPath(account, "transactions", { dealId: id })}>
          <ShortId id={id} />
        </Link>
      ),
    },
    { head: "Symbol", cell: ({ symbol }) => symbol },
    { head: "Side", cell: ({ side }) => side },
    { head: "Kind", cell: ({ kind }) => kind.replaceAll("_", " ") },
    { head: "Volume (lots)", numeric: true, cell: ({ volume }) => decimal(volume) },
    { head: "Price", numeric: true, cell: ({ price }) => decimal(price) },
    {
      head: "Realized profit",
      numeric: true,
      cell: ({ realizedPnl }) => <Money amount={realizedPnl} currency={currency} change />,
    },
    {
      head: "Commission",
      numeric: true,
      cell: ({ commission }) => <Money amount={commission} currency={currency} change />,
    },
    { head: "Swap", numeric: true, cell: ({ swap }) => <Money amount={swap} currency={currency} change /> },
    {
      head: "Position and order",
      cell: ({ positionId, orderId }) => (
        <>
          <Link to={tabPath(account, "deals", { positionId })}>
            <ShortId id={positionId} />
          </Link>
          <span class="under">
            <Link to={tabPath(account, "deals", { orderId })}>
              <ShortId id={orderId} />
            </Link>
          </span>
        </>
      ),
    },
    {
      head: "Executed",
      cell: ({ executedAt }) => (
        <span class="wraps">
          <Moment at={executedAt} />
        </span>
      ),
    },
  ];
}
