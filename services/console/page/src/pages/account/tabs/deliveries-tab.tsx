import { useApi } from "../../../api/context.ts";
import type { AccountDeliveriesAnswer } from "../../../api/shapes.ts";
import { type Column, Table } from "../../../parts/table.tsx";
import { Moment, State } from "../../../parts/values.tsx";
import { Link, part } from "../../../router.tsx";
import { outcomeOf } from "../../webhook-attempts.tsx";
import { KIND_GROUPS } from "../../webhook-kinds.ts";
import { type RecordFilter, RecordList } from "./record-list.tsx";
import type { TabProps } from "./tab-props.ts";

const FILTERS: readonly RecordFilter[] = [
  {
    field: "type",
    label: "Event",
    options: KIND_GROUPS.flatMap(({ kinds }) => kinds).map((kind) => [kind, kind] as const),
  },
];

type DeliveredEvent = AccountDeliveriesAnswer["events"][number];

/** The events of an account in the last 30 days, newest first, with their webhook deliveries. */
export function DeliveriesTab({ account, round }: TabProps) {
  const { lists } = useApi();
  return (
    <RecordList
      what={["event", "events"]}
      filters={FILTERS}
      time="exclusive"
      round={round}
      load={async (query, signal) => {
        const { events: rows, nextCursor } = await lists.page("deliveries", account, query, signal);
        return { rows, nextCursor, total: null };
      }}
      empty="No event of this account in the last 30 days. Trades, deposits and changes of the account create events."
    >
      {(rows) => <Table caption="Events, newest first" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />}
    </RecordList>
  );
}

const COLUMNS: readonly Column<DeliveredEvent>[] = [
  {
    head: "Event",
    cell: ({ id, type }) => (
      <>
        <Link to={`/webhooks/events/${part(id)}`}>{type}</Link>
        <code class="under">{id}</code>
      </>
    ),
  },
  { head: "Deliveries", cell: ({ deliveries }) => <Deliveries deliveries={deliveries} /> },
  { head: "Recorded", cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

function Deliveries({ deliveries }: Pick<DeliveredEvent, "deliveries">) {
  if (deliveries.length === 0) return <span class="quiet">no endpoint receives this event</span>;
  return (
    <ul class="plain-list">
      {deliveries.map(({ id, endpointId, url, status, lastAttempt }) => (
        <li key={id}>
          <State of={status} /> <Link to={`/webhooks/${part(endpointId)}`}>{url}</Link>
          {lastAttempt === null ? null : <span class="under">{outcomeOf(lastAttempt)}</span>}
        </li>
      ))}
    </ul>
  );
}
