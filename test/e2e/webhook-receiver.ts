/** A webhook receiver that uses only plain HTTP and the standardwebhooks package. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Webhook } from "standardwebhooks";

/** The body of a delivery, parsed. */
export interface ReceivedEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly eventId: string;
    readonly accountNumber: string | null;
    readonly accountSequence: number | null;
    readonly [field: string]: unknown;
  };
}

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The unchanged body. */
  readonly body: string;
  readonly event: ReceivedEvent;
  /** When the whole body had arrived, in milliseconds since 1970. */
  readonly atMs: number;
}

/** Keeps every delivery, and answers with `reply`. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  reply: { status: number; body: string } = { status: 200, body: "thanks" };
  readonly #server: Server;
  readonly #onReceived: (received: Received) => void;

  private constructor(onReceived: (received: Received) => void) {
    this.#onReceived = onReceived;
    this.#server = createServer((request, response) => {
      // An incomplete delivery is not kept; the sender repeats the delivery.
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  /** Listens on a free port; `onReceived` gets every delivery. */
  static async start(onReceived: (received: Received) => void = () => undefined): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(onReceived);
    await receiver.listen(0);
    return receiver;
  }

  /** Starts to listen. May be called again after {@link stop}. */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", resolve);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** The deliveries of a kind, in order of arrival. */
  ofType(type: string): Received[] {
    return this.received.filter(({ event }) => event.type === type);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const event = JSON.parse(body) as ReceivedEvent;
    const headers = request.headers as Record<string, string>;
    const received = { path: request.url ?? "", headers, body, event, atMs: Date.now() };
    this.received.push(received);
    this.#onReceived(received);
    response.writeHead(this.reply.status, { "content-type": "text/html" }).end(this.reply.body);
  }
}

/**
 * The event of a delivery, verified by the standardwebhooks package. Throws if the signature does
 * not match the secret.
 */
export function verified(secret: string, { body, headers }: Pick<Received, "body" | "headers">): unknown {
  return new Webhook(secret).verify(body, { ...headers });
}
