import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { DeliveryStatus, WebhookDelivery, WebhookEndpoint } from "../api/shapes.ts";
import { Choice } from "../parts/choice.tsx";
import { filterBy, pageIn } from "../parts/filter.ts";
import { Loaded } from "../parts/notice.tsx";
import { Pager } from "../parts/pager.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData, useReloadWhile } from "../parts/use-data.ts";
import { Moment, Nothing, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { Attempts, outcomeOf } from "./webhook-attempts.tsx";
import { ALL_KINDS } from "./webhook-kinds.ts";

const DELIVERIES_A_PAGE = 20;
/** Poll interval of the list while a delivery on it is being sent or is due soon. */
const RELOAD_INTERVAL_MS = 2_000;
/** A delivery is due soon if its next attempt is within this time. */
const SOON_MS = 10_000;
/** Every state, with its name in the filter. */
const STATES: Readonly<Record<DeliveryStatus, string>> = {
  pending: "Pending",
  delivering: "Delivering",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
};

interface DeliveriesProps {
  readonly endpoint: WebhookEndpoint;
  readonly query: URLSearchParams;
  /** Changes after each test and replay, so that the list is reloaded. */
  readonly round: number;
}

/** The deliveries of an endpoint, newest first. */
export function Deliveries({ endpoint, query, round }: DeliveriesProps) {
  const api = useApi();
  const path = `/webhooks/${part(endpoint.id)}`;
  const filter = {
    page: pageIn(query),
    limit: DELIVERIES_A_PAGE,
    status: query.get("status") ?? "",
    type: query.get("type") ?? "",
  };
  const deliveries = useData(`${JSON.stringify(filter)} ${round} ${endpoint.updatedAt}`, (signal) =>
    api.webhookDeliveries(endpoint.id, filter, signal),
  );
  const [shownId, show] = useState<string | null>(null);
  const { value, reload } = deliveries;
  useReloadWhile(value?.deliveries.some(isUnderWay) === true, deliveries, RELOAD_INTERVAL_MS);
  const shown = value?.deliveries.find(({ id }) => id === shownId);
  const redeliver = async (deliveryId: string): Promise<void> => {
    await api.redeliverWebhook(endpoint.id, deliveryId);
    show(null);
    reload();
  };
  return (
    <section class="card">
      <h2>Deliveries</h2>
      <Filter path={path} query={query} reload={reload} />
      <Loaded data={deliveries} what="the deliveries">
        {({ deliveries: list, pagination }) =>
          pagination.total === 0 ? (
            <p class="quiet">
              {filter.status === "" && filter.type === ""
                ? "No deliveries yet. Send a test event to try this endpoint."
                : "No delivery matches."}
            </p>
          ) : (
            <>
              <Table caption="Deliveries, newest first" columns={columns(show)} rows={list} keyOf={({ id }) => id} />
              <Pager
                pagination={pagination}
                what={["delivery", "deliveries"]}
                go={(page) => filterBy(path, query, { page })}
              />
            </>
          )
        }
      </Loaded>
      {shown === undefined ? null : (
        <Attempts
          delivery={shown}
          redeliver={endpoint.status === "enabled" ? () => redeliver(shown.id) : null}
          onClose={() => show(null)}
        />
      )}
    </section>
  );
}

/** Whether a delivery is being sent or is due soon. A pending one without a next attempt is due. */
export function isUnderWay({ status, nextAttemptAt }: Pick<WebhookDelivery, "status" | "nextAttemptAt">): boolean {
  if (status === "delivering") return true;
  return status === "pending" && (nextAttemptAt === null || Date.parse(nextAttemptAt) - Date.now() < SOON_MS);
}

interface FilterProps {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly reload: () => void;
}

function Filter({ path, query, reload }: FilterProps) {
  return (
    <div class="inline" role="search">
      <Choice label="State" path={path} query={query} field="status" options={Object.entries(STATES)} />
      <Choice
        label="Event type"
        path={path}
        query={query}
        field="type"
        options={ALL_KINDS.map((value) => [value, value] as const)}
      />
      <button type="button" onClick={reload}>
        Refresh
      </button>
    </div>
  );
}

function columns(show: (deliveryId: string) => void): readonly Column<WebhookDelivery>[] {
  return [
    {
      head: "Event",
      cell: ({ type, eventId }) => (
        <>
          {type}
          <code class="under">
            <Link to={`/webhooks/events/${part(eventId)}`}>{eventId}</Link>
          </code>
        </>
      ),
    },
    { head: "State", cell: ({ status }) => <State of={status} /> },
    {
      head: "Last attempt",
      cell: ({ attempts }) => {
        const last = attempts.at(-1);
        return last === undefined ? <Nothing /> : outcomeOf(last);
      },
    },
    { head: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { head: "Next attempt", cell: ({ nextAttemptAt }) => <Moment at={nextAttemptAt} /> },
    {
      head: "Actions",
      hiddenHead: true,
      cell: ({ id, type }) => (
        <button type="button" aria-label={`Details of ${type}`} onClick={() => show(id)}>
          Details
        </button>
      ),
    },
  ];
}
