import { NotFoundError } from "../errors.ts";
import type {
  CreateWebhook,
  UpdateWebhook,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEvent,
  WebhookKind,
} from "../generated/api.ts";
import { pathOf, type RequestOptions, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import { type IncomingHeaders, verifyWebhook } from "../webhooks/verify.ts";
import type { EventsResource } from "./events.ts";
import { filterQuery, listOf, type Period } from "./pages.ts";

/** Selects deliveries by the time of their creation, and by their fields. */
export interface DeliveryFilter extends Period {
  readonly status?: WebhookDelivery["status"] | undefined;
  readonly type?: WebhookKind | undefined;
  readonly eventId?: string | undefined;
}

/** A new endpoint, or an endpoint with a new secret. */
export interface EndpointSecret {
  readonly endpoint: WebhookEndpoint;
  /** `whsec_…`: shown in this answer only. */
  readonly secret: string;
}

/** Webhook endpoints, and the verification of deliveries: `kapi.webhooks`. */
export class WebhooksResource {
  readonly #transport: Transport;
  readonly #events: EventsResource;

  constructor(transport: Transport, events: EventsResource) {
    this.#transport = transport;
    this.#events = events;
  }

  /**
   * Adds an endpoint. After a lost answer look for the endpoint in `list()` before you repeat the
   * call.
   */
  create(endpoint: CreateWebhook): Promise<EndpointSecret> {
    return this.#call<EndpointSecret>({ method: "POST", path: pathOf("webhooks"), body: endpoint });
  }

  /** Reads all endpoints. */
  async list(): Promise<readonly WebhookEndpoint[]> {
    const answer = await this.#call<{ endpoints: WebhookEndpoint[] }>({ method: "GET", path: pathOf("webhooks") });
    return answer.endpoints;
  }

  /** Reads one endpoint. */
  async get(endpointId: string): Promise<WebhookEndpoint> {
    const path = pathOf("webhooks", endpointId);
    return (await this.#call<{ endpoint: WebhookEndpoint }>({ method: "GET", path })).endpoint;
  }

  /** Changes, disables or enables an endpoint; missing fields are unchanged. */
  async update(endpointId: string, changes: UpdateWebhook): Promise<WebhookEndpoint> {
    const path = pathOf("webhooks", endpointId);
    return (await this.#call<{ endpoint: WebhookEndpoint }>({ method: "PATCH", path, body: changes })).endpoint;
  }

  /** Deletes an endpoint. Deliveries that wait for it are not sent. */
  async delete(endpointId: string): Promise<void> {
    try {
      await this.#call({ method: "DELETE", path: pathOf("webhooks", endpointId) });
    } catch (error) {
      // The answer to an earlier attempt was lost: that attempt deleted the endpoint.
      const isRepeated = error instanceof NotFoundError && error.attempts > 1;
      if (!isRepeated || error.code !== "ENDPOINT_NOT_FOUND") throw error;
    }
  }

  /** Gives an endpoint a new secret. For 24 hours kapi signs with the old and the new secret. */
  rotateSecret(endpointId: string): Promise<EndpointSecret> {
    return this.#call<EndpointSecret>({ method: "POST", path: pathOf("webhooks", endpointId, "rotate-secret") });
  }

  /** Sends the endpoint an event of the kind `webhook.test`; returns the event id. */
  async test(endpointId: string): Promise<string> {
    const path = pathOf("webhooks", endpointId, "test");
    return (await this.#call<{ eventId: string }>({ method: "POST", path })).eventId;
  }

  /** Sends the events of a period again, and returns their number. */
  async replay(
    endpointId: string,
    period: {
      readonly since: Date | string;
      readonly until?: Date | string | undefined;
      readonly kinds?: WebhookKind[];
    },
  ): Promise<number> {
    const path = pathOf("webhooks", endpointId, "replay");
    return (await this.#call<{ events: number }>({ method: "POST", path, body: period })).events;
  }

  /** The deliveries of an endpoint, sent or waiting, with their attempts; newest first. */
  deliveries(endpointId: string, filter: DeliveryFilter = {}): List<WebhookDelivery> {
    const path = pathOf("webhooks", endpointId, "deliveries");
    return listOf<WebhookDelivery>(this.#transport, path, "deliveries", filterQuery({ ...filter }));
  }

  /** Sends one delivery again, at once. */
  async redeliver(endpointId: string, deliveryId: string): Promise<WebhookDelivery> {
    const path = pathOf("webhooks", endpointId, "deliveries", deliveryId, "redeliver");
    return (await this.#call<{ delivery: WebhookDelivery }>({ method: "POST", path })).delivery;
  }

  /** Verifies a delivery: see {@link verifyWebhook}. */
  verify(rawBody: string | Uint8Array, headers: IncomingHeaders, secrets: string | readonly string[]): WebhookEvent {
    return verifyWebhook(rawBody, headers, secrets);
  }

  /** Handles the events after the stored cursor: see {@link EventsResource.catchUp}. */
  catchUp(
    options: Parameters<EventsResource["catchUp"]>[0],
    handler: Parameters<EventsResource["catchUp"]>[1],
  ): Promise<number> {
    return this.#events.catchUp(options, handler);
  }

  async #call<T>(options: RequestOptions): Promise<T> {
    return (await this.#transport.request<T>(options)).body;
  }
}
