import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

import { Webhook } from "standardwebhooks";
import { vi } from "vitest";

/** A received delivery. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers a request. */
export type Answer = (response: ServerResponse, received: Received) => void;

/** A certificate and its key, as PEM. */
interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** A webhook receiver on a real socket. */
export class Receiver {
  readonly received: Received[] = [];
  /** The answer to every request, until a test sets another one. */
  answer: Answer = ok;
  /** Number of accepted connections. */
  connections = 0;
  /** The port stays set after a stop. */
  port = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(identity: Identity | null) {
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => void this.#take(request, response);
    this.#server =
      identity === null
        ? createServer(onRequest)
        : createSecureServer({ cert: identity.certificate, key: identity.key }, onRequest);
    this.#server.on("connection", (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  /** @param identity makes the receiver serve https only. */
  static async start(identity: Identity | null = null): Promise<Receiver> {
    const receiver = new Receiver(identity);
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    receiver.port = (receiver.#server.address() as AddressInfo).port;
    return receiver;
  }

  /** The address over plain HTTP. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** The `webhook-id` of all requests to `path`, in order. */
  idsAt(path = "/hook"): string[] {
    return this.received.filter((one) => one.path === path).map(({ headers }) => headers["webhook-id"] ?? "");
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const received = {
      path: request.url ?? "",
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
    };
    this.received.push(received);
    this.answer(response, received);
  }
}

export function ok(response: ServerResponse): void {
  response.end("thanks");
}

/** Answers with this status, these headers and the status as text. */
export function status(code: number, headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(code, headers).end(`status ${code}`);
}

/** Never answers. */
export function hang(): void {
  // The connection is left open.
}

/**
 * Verifies a delivery with the standardwebhooks package at `nowMs`, and returns its content. Throws
 * for an invalid signature.
 */
export function verified(
  secret: string,
  { body, headers }: Pick<Received, "body" | "headers">,
  nowMs: number,
): unknown {
  vi.useFakeTimers({ toFake: ["Date"], now: nowMs });
  try {
    return new Webhook(secret).verify(body, { ...headers });
  } finally {
    vi.useRealTimers();
  }
}
