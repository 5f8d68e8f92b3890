import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { WebhookEndpoint, WebhookSecret, WebhookSettings } from "../api/shapes.ts";
import { Loaded } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { Moment, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { EventSearch } from "./webhook-event-search.tsx";
import { EndpointForm } from "./webhook-form.tsx";
import { NewSecret } from "./webhook-secret.tsx";

/** The webhook endpoints. */
export function WebhooksPage() {
  const api = useApi();
  const endpoints = useData("webhooks", (signal) => api.webhooks(signal));
  const [adding, setAdding] = useState(false);
  const [added, setAdded] = useState<WebhookSecret | null>(null);
  const add = async (settings: WebhookSettings): Promise<void> => {
    setAdded(await api.createWebhook(settings));
    setAdding(false);
    endpoints.reload();
  };
  return (
    <Page
      title="Webhooks"
      actions={
        <Permitted to="webhooks:manage">
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            Add an endpoint
          </button>
        </Permitted>
      }
    >
      <p>
        A webhook endpoint is a URL of your backend. It gets a signed request for each event that you choose, such as a
        closed position, a deposit or a disabled account. Failed deliveries are retried for three days.
      </p>
      {added === null ? null : <NewSecret given={added} rotated={false} onDone={() => setAdded(null)} />}
      <EventSearch />
      <section class="card">
        <Loaded data={endpoints} what="the endpoints">
          {(list) =>
            list.length === 0 ? (
              <p class="quiet">No endpoints yet. Add one to receive events.</p>
            ) : (
              <Table caption="Webhook endpoints" columns={COLUMNS} rows={list} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
      </section>
      {adding ? (
        <EndpointForm
          title="Add a webhook endpoint"
          confirm="Add endpoint"
          endpoint={null}
          save={add}
          onClose={() => setAdding(false)}
        />
      ) : null}
    </Page>
  );
}

const COLUMNS: readonly Column<WebhookEndpoint>[] = [
  {
    head: "Address",
    cell: ({ id, url, description }) => (
      <>
        <Link to={`/webhooks/${part(id)}`}>{url}</Link>
        {description === "" ? null : <span class="under">{description}</span>}
      </>
    ),
  },
  {
    head: "State",
    cell: ({ status, failingSince }) => (
      <>
        <State of={status} />
        {status === "enabled" && failingSince ? (
          <span class="under">
            failing since <Moment at={failingSince} />
          </span>
        ) : null}
      </>
    ),
  },
  { head: "Event types", cell: ({ kinds }) => (kinds === null ? "all except command results" : String(kinds.length)) },
  { head: "Servers", cell: ({ serverIds }) => (serverIds === null ? "all" : String(serverIds.length)) },
  { head: "Added", cell: ({ createdAt }) => <Moment at={createdAt} /> },
];
