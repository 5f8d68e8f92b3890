import { useApi } from "../../../api/context.ts";
import type { Order } from "../../../api/shapes.ts";
import { decimal } from "../../../format.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { Moment, State } from "../../../parts/values.tsx";
import { Link } from "../../../router.tsx";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import { ShortId } from "./short-id.tsx";
import { tabPath } from "./tab-links.ts";
import { SIDES, type TabProps } from "./tab-props.ts";

const FILTERS: readonly RecordFilter[] = [
  { field: "symbol", label: "Symbol" },
  { field: "side", label: "Side", options: SIDES },
  {
    field: "orderType",
    label: "Type",
    options: [
      ["market", "Market"],
      ["limit", "Limit"],
      ["stop", "Stop"],
    ],
  },
  {
    field: "status",
    label: "State",
    options: [
      ["placed", "Placed"],
      ["executed", "Executed"],
      ["cancelled", "Cancelled"],
      ["rejected", "Rejected"],
    ],
  },
];

/** The orders of an account, newest first. */
export function OrdersTab({ account, round }: TabProps) {
  const { lists } = useApi();
  return (
    <RecordList
      what={["order", "orders"]}
      filters={FILTERS}
      time="exclusive"
      round={round}
      load={async (query, signal) => {
        const { orders: rows, pagination } = await lists.page("orders", account, query, signal);
        return { rows, ...pagination };
      }}
      csv={(query) => lists.csv("orders", account, query)}
      empty="No order was placed on this account yet. Orders appear here as soon as the trader places them."
    >
      {(rows) => (
        <Table caption="Orders, newest first" columns={columnsOf(account)} rows={rows} keyOf={({ id }) => id} />
      )}
    </RecordList>
  );
}

function columnsOf(account: TabProps["account"]): readonly Column<Order>[] {
  return [
    {
      head: "Order",
      cell: ({ id }) => (
        <Link to={tabPath(account, "deals", { orderId: id })}>
          <ShortId id={id} />
        </Link>
      ),
    },
    { head: "Symbol", cell: ({ symbol }) => symbol },
    { head: "Side", cell: ({ side }) => side },
    { head: "Type", cell: ({ orderType }) => orderType },
    { head: "Volume (lots)", numeric: true, cell: ({ volume }) => decimal(volume) },
    { head: "State", cell: ({ status }) => <State of={status} /> },
    { head: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { head: "Executed", cell: ({ executedAt }) => <Moment at={executedAt} /> },
  ];
}
