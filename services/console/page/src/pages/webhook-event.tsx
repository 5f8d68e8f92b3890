import { useApi } from "../api/context.ts";
import type { EventDelivery, EventDeliveriesAnswer, WebhookEndpoint } from "../api/shapes.ts";
import { Loaded, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { useAction, useData, useReloadWhile } from "../parts/use-data.ts";
import { AccountLink, Block, Copy, Detail, DetailList, Moment, Nothing, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { AttemptList } from "./webhook-attempts.tsx";
import { isUnderWay } from "./webhook-deliveries.tsx";
import { whyNotSent } from "./webhook-not-sent.ts";

/** Poll interval of the page while a delivery is being sent or is due soon. */
const RELOAD_INTERVAL_MS = 2_000;

type ShownEvent = EventDeliveriesAnswer["event"];

/** One event: its payload, and its delivery to each endpoint. */
export function WebhookEventPage({ eventId }: { readonly eventId: string }) {
  const api = useApi();
  const event = useData(`event ${eventId}`, (signal) => api.webhookEvent(eventId, signal));
  const endpoints = useData("webhooks", (signal) => api.webhooks(signal));
  const { value, reload } = event;
  useReloadWhile(value?.deliveries.some(isUnderWay) === true, event, RELOAD_INTERVAL_MS);
  return (
    <Page title="Webhook event">
      <p>
        <Link to="/webhooks">All endpoints</Link>
      </p>
      <Loaded data={event} what="the event">
        {(shown) => (
          <>
            <EventDetails event={shown} />
            {shown.deliveries.map((delivery) => (
              <Delivery key={delivery.id} delivery={delivery} onSent={reload} />
            ))}
            <NotSent event={shown} endpoints={endpoints.value ?? []} />
            <section class="card">
              <h2>Payload</h2>
              <Block text={pretty(shown.payload)} label="Payload" />
              <Copy text={shown.payload} what="the payload as sent" />
            </section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function EventDetails({ event }: { readonly event: ShownEvent }) {
  const { id, type, createdAt, serverId, accountNumber } = event;
  return (
    <section class="card">
      <DetailList>
        <Detail name="Event type">{type}</Detail>
        <Detail name="Recorded">
          <Moment at={createdAt} />
        </Detail>
        <Detail name="Account">
          {serverId === null || accountNumber === null ? (
            <Nothing />
          ) : (
            <AccountLink serverId={serverId} accountNumber={accountNumber} />
          )}
        </Detail>
        <Detail name="webhook-id" wide>
          <code>{id}</code> <Copy text={id} what="the event id" />
        </Detail>
      </DetailList>
    </section>
  );
}

function Delivery({ delivery, onSent }: { readonly delivery: EventDelivery; readonly onSent: () => void }) {
  const api = useApi();
  const { id, endpointId, url, status, nextAttemptAt, completedAt, attempts } = delivery;
  const again = useAction(async () => {
    await api.redeliverWebhook(endpointId, id);
    onSent();
  });
  return (
    <section class="card">
      <h2>
        Delivery to <Link to={`/webhooks/${part(endpointId)}`}>{url}</Link>
      </h2>
      <DetailList>
        <Detail name="State">
          <State of={status} />
        </Detail>
        <Detail name={status === "pending" ? "Next attempt" : "Final"}>
          <Moment at={status === "pending" ? nextAttemptAt : completedAt} />
        </Detail>
      </DetailList>
      <AttemptList attempts={attempts} />
      <Problem failure={again.failure} />
      <Permitted to="webhooks:manage">
        <div class="buttons">
          <button type="button" disabled={again.busy || status === "delivering"} onClick={again.run}>
            {again.busy ? "Sending…" : "Send again"}
          </button>
        </div>
      </Permitted>
    </section>
  );
}

/** The endpoints without a delivery, and why they have none. */
function NotSent({ event, endpoints }: { readonly event: ShownEvent; readonly endpoints: readonly WebhookEndpoint[] }) {
  const others = endpoints.filter(({ id }) => event.deliveries.every(({ endpointId }) => endpointId !== id));
  if (others.length === 0) return null;
  return (
    <section class="card">
      <h2>Not sent to</h2>
      <ul>
        {others.map((endpoint) => (
          <li key={endpoint.id}>
            <Link to={`/webhooks/${part(endpoint.id)}`}>{endpoint.url}</Link>: {whyNotSent(event, endpoint)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function pretty(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
