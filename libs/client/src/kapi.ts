import { Transport, type TransportOptions } from "./http/transport.ts";
import { CommandsResource } from "./resources/commands.ts";
import { CreditsResource } from "./resources/credits.ts";
import { EventsResource } from "./resources/events.ts";
import { ServerResource } from "./resources/server.ts";
import { WebhooksResource } from "./resources/webhooks.ts";

export interface KapiOptions extends TransportOptions {
  /** Base address of the live stream, such as `wss://live.example.com`; needed for `live` only. */
  readonly liveUrl?: string;
}

/**
 * The API of kapi. One instance serves a whole program: it has no connection of its own to close.
 *
 * @example
 * const kapi = new Kapi({ key: process.env.KAPI_KEY, baseUrl: "https://api.example.com" });
 * const deposit = await kapi.server(serverId).account("10000001").deposit({ amount: "250.55" }, { key: "payout-4711" });
 * const { balanceAfter } = await deposit.result();
 */
export class Kapi {
  readonly commands: CommandsResource;
  readonly credits: CreditsResource;
  readonly events: EventsResource;
  readonly webhooks: WebhooksResource;
  readonly #transport: Transport;

  /** @throws TypeError for a key or an address that cannot be one. */
  constructor(options: KapiOptions) {
    this.#transport = new Transport(options);
    this.commands = new CommandsResource(this.#transport);
    this.credits = new CreditsResource(this.#transport);
    this.events = new EventsResource(this.#transport);
    this.webhooks = new WebhooksResource(this.#transport, this.events);
  }

  /** One trading server of the organization. */
  server(serverId: string): ServerResource {
    return new ServerResource(this.#transport, this.commands, serverId);
  }
}
