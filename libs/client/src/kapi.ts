import { isAccountGone } from "./errors.ts";
import { parseAddress, Transport, type TransportOptions } from "./http/transport.ts";
import type { Account } from "./live/events.ts";
import type { AccountState } from "./live/follower.ts";
import { Live, type LiveOptions } from "./live/live.ts";
import { connectSocket, type SocketFactory } from "./live/socket.ts";
import { CommandsResource } from "./resources/commands.ts";
import { CreditsResource } from "./resources/credits.ts";
import { EventsResource } from "./resources/events.ts";
import { ServerResource } from "./resources/server.ts";
import { WebhooksResource } from "./resources/webhooks.ts";

const LIVE_PATH = "/api/v1/management/live-metrics";

/**
 * The addresses, the key and the limits of a {@link Kapi}. The live stream has an address of its
 * own.
 */
export interface KapiOptions extends TransportOptions {
  /** Base address of the live stream, such as `wss://live.example.com`; needed for `live` only. */
  readonly liveUrl?: string | undefined;
  /** Replaces the WebSocket of the live stream, for example in tests. */
  readonly socket?: SocketFactory | undefined;
}

/**
 * The API of kapi. One instance is enough for a program. Only its live streams must be closed.
 *
 * @example
 * const kapi = new Kapi({ key: process.env.KAPI_KEY ?? "", baseUrl: "https://api.example.com" });
 * const account = kapi.server(serverId).account("10000001");
 * const deposit = await account.deposit({ amount: "250.55" }, { key: "payout-4711" });
 * const { balanceAfter } = await deposit.result();
 */
export class Kapi {
  readonly commands: CommandsResource;
  readonly credits: CreditsResource;
  readonly events: EventsResource;
  readonly webhooks: WebhooksResource;
  readonly #transport: Transport;
  readonly #liveUrl: string | null;
  readonly #socket: SocketFactory;

  /** @throws TypeError for a malformed key or address. */
  constructor(options: KapiOptions) {
    this.#transport = new Transport(options);
    this.#liveUrl = options.liveUrl === undefined ? null : parseAddress("liveUrl", options.liveUrl) + LIVE_PATH;
    this.#socket = options.socket ?? connectSocket;
    this.commands = new CommandsResource(this.#transport);
    this.credits = new CreditsResource(this.#transport);
    this.events = new EventsResource(this.#transport);
    this.webhooks = new WebhooksResource(this.#transport, this.events);
  }

  /** One trading server of the organization. */
  server(serverId: string): ServerResource {
    return new ServerResource(this.#transport, this.commands, serverId);
  }

  /**
   * Opens the live stream. Nothing is connected before the first account is followed.
   * @throws TypeError without `liveUrl`.
   */
  live(options: LiveOptions): Live {
    if (this.#liveUrl === null) throw new TypeError("live needs liveUrl, the address of the live stream");
    return new Live(options, {
      url: this.#liveUrl,
      authorization: this.#transport.authorization,
      socket: this.#socket,
      readState: (account) => this.#readState(account),
    });
  }

  /**
   * The account and its open positions. Null if kapi says that the account does not exist, or that
   * its server was removed.
   */
  async #readState({ serverId, accountNumber }: Account): Promise<AccountState | null> {
    const resource = this.server(serverId).account(accountNumber);
    try {
      const { account } = await resource.get();
      return { account, openPositions: await resource.positions({ status: "open" }).toArray() };
    } catch (error) {
      if (isAccountGone(error)) return null;
      throw error;
    }
  }
}
