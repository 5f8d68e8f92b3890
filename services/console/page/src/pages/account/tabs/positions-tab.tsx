import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { useApi } from "../../../api/context.ts";
import type { Position, TradingAccount } from "../../../api/shapes.ts";
import { decimal } from "../../../format.ts";
import { useLive } from "../../../parts/live-account.ts";
import { liveValues } from "../../../parts/live-values.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { useUrlState } from "../../../parts/url-state.ts";
import { Ago, Moment, Money, State } from "../../../parts/values.tsx";
import { Link } from "../../../router.tsx";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import { ShortId } from "./short-id.tsx";
import { tabPath } from "./tab-links.ts";
import { SIDES, type TabProps } from "./tab-props.ts";

const OPEN = "open";
const FILTERS: readonly RecordFilter[] = [
  {
    field: "status",
    label: "State",
    initial: OPEN,
    options: [
      [OPEN, "Open"],
      ["closed", "Closed"],
      ["all", "Open and closed"],
    ],
  },
  { field: "symbol", label: "Symbol" },
  { field: "side", label: "Side", options: SIDES },
];

/** The positions of an account, newest first: only open ones, unless the address names a state. */
export function PositionsTab({ account, stored, round }: TabProps & { readonly stored: TradingAccount }) {
  const { lists } = useApi();
  const [changes, setChanges] = useState(0);
  const changed = useCallback(() => setChanges((before) => before + 1), []);
  const status = useUrlState().get("status") || OPEN;
  return (
    <>
      <OpenProfit stored={stored} onChange={changed} />
      <RecordList
        what={status === OPEN ? ["open position", "open positions"] : ["position", "positions"]}
        filters={FILTERS}
        time="exclusive"
        round={round + changes}
        load={async (query, signal) => {
          const { positions: rows, pagination } = await lists.page("positions", account, query, signal);
          return { rows, ...pagination };
        }}
        csv={(query) => lists.csv("positions", account, query)}
        empty={
          <>
            This account has no open positions.{" "}
            <Link to={tabPath(account, "positions", { status: "all" })}>Show closed ones too</Link>
          </>
        }
      >
        {(rows) => (
          <Table
            caption="Positions, newest first"
            columns={columnsOf(account, status)}
            rows={rows}
            keyOf={({ id }) => id}
          />
        )}
      </RecordList>
    </>
  );
}

interface OpenProfitProps {
  readonly stored: TradingAccount;
  /** Called when the number of open positions in the live samples has changed. */
  readonly onChange: () => void;
}

/**
 * The open profit of the account: from the newest live sample while the stream is connected.
 * Without a connection or a sample, or if `stored` is newer, the profit of `stored`.
 */
function OpenProfit({ stored, onChange }: OpenProfitProps) {
  const { connection, samples } = useLive(stored.serverId, stored.accountNumber);
  const sample = connection === "live" ? samples.at(-1) : undefined;
  const { unrealizedProfit, currency, metricsMeasuredAt } = liveValues(stored, sample);
  const isLive = sample !== undefined && metricsMeasuredAt === sample.measuredAt;
  const count = useRef<number | null>(null);
  const shownCount = sample?.openPositionCount ?? null;
  useEffect(() => {
    if (shownCount === null) return;
    if (count.current !== null && count.current !== shownCount) onChange();
    count.current = shownCount;
  }, [shownCount, onChange]);
  return (
    <p class="open-profit">
      <span class={`lamp ${isLive ? "live" : "lost"}`} /> Open profit of all positions:{" "}
      <strong>
        <Money amount={unrealizedProfit} currency={currency} change />
      </strong>{" "}
      <span class="quiet">
        {isLive ? "live" : "stored"}, measured <Ago at={metricsMeasuredAt} />
      </span>
      <span class="under">Trading servers report the open profit for the whole account, not for each position.</span>
    </p>
  );
}

function columnsOf(account: TabProps["account"], status: string): readonly Column<Position>[] {
  const closed: readonly Column<Position>[] = [
    { head: "State", cell: ({ status: state }) => <State of={state} /> },
    { head: "Closed", cell: ({ closedAt }) => <Moment at={closedAt} /> },
  ];
  return [
    {
      head: "Position",
      cell: ({ id }) => (
        <Link to={tabPath(account, "deals", { positionId: id })}>
          <ShortId id={id} />
        </Link>
      ),
    },
    { head: "Symbol", cell: ({ symbol }) => symbol },
    { head: "Side", cell: ({ side }) => side },
    { head: "Open (lots)", numeric: true, cell: ({ volume, closedVolume }) => decimal(volume - closedVolume) },
    { head: "Opened (lots)", numeric: true, cell: ({ volume }) => decimal(volume) },
    { head: "Open price", numeric: true, cell: ({ openPrice }) => decimal(openPrice) },
    { head: "Opened", cell: ({ openedAt }) => <Moment at={openedAt} /> },
    ...(status === OPEN ? [] : closed),
    {
      head: "Order",
      cell: ({ orderId }) => (
        <Link to={tabPath(account, "deals", { orderId })}>
          <ShortId id={orderId} />
        </Link>
      ),
    },
  ];
}
