import { once } from "node:events";

import type { AccountMetricsFrame } from "@kapi/contracts";
import { LIVE_METRICS_PATH } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { WebSocket } from "ws";

/** A message of the server. */
export type Frame = { readonly type: string } & Record<string, unknown>;

/** A client of the live stream, as a customer's program would be. */
export class LiveClient {
  readonly ws: WebSocket;
  /** All received texts, in order. */
  readonly texts: string[] = [];
  closeCode: number | null = null;

  /** The sequence of the last received sample, by account number. */
  readonly #last = new Map<string, number>();

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on("message", (data: Buffer) => this.#receive(data.toString()));
    ws.on("close", (code) => {
      this.closeCode = code;
    });
    ws.on("error", () => undefined);
  }

  /** Connects and waits for `connected`; rejects if the handshake is rejected. */
  static async connect(wsUrl: string, managementKey: string): Promise<LiveClient> {
    const headers = { authorization: `Management ${managementKey}` };
    const client = new LiveClient(new WebSocket(wsUrl + LIVE_METRICS_PATH, { headers }));
    await once(client.ws, "open");
    await eventually(() => client.frames("connected").length === 1);
    return client;
  }

  send(message: object | string): void {
    this.ws.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  subscribe(serverId: string, accountNumber: string, afterSequence?: number): void {
    this.send({
      type: "subscribe",
      serverId,
      accountNumber,
      ...(afterSequence === undefined ? {} : { afterSequence }),
    });
  }

  /** The received messages, of one type if given, in order. */
  frames(type?: string): Frame[] {
    const frames = this.texts.filter((text) => text.startsWith("{")).map((text) => JSON.parse(text) as Frame);
    return type === undefined ? frames : frames.filter((frame) => frame.type === type);
  }

  /** The received samples of an account, in order. */
  samples(accountNumber: string): AccountMetricsFrame[] {
    const samples = this.frames("account.metrics") as unknown as AccountMetricsFrame[];
    return samples.filter((sample) => sample.accountNumber === accountNumber);
  }

  /** The sequence of the last received sample; 0 before the first. */
  last(accountNumber: string): number {
    return this.#last.get(accountNumber) ?? 0;
  }

  /** The sequences of the received samples of an account, in order. */
  sequences(accountNumber: string): number[] {
    return this.samples(accountNumber).map(({ sequence }) => sequence);
  }

  #receive(text: string): void {
    this.texts.push(text);
    if (!text.startsWith('{"type":"account.metrics",')) return;
    const sample = JSON.parse(text) as AccountMetricsFrame;
    this.#last.set(sample.accountNumber, sample.sequence);
  }

  /** Waits up to 20 s until `what` returns true. */
  async until(what: () => boolean): Promise<void> {
    await eventually(what, { timeoutMs: 20_000 });
  }

  /** Ends the connection without a close frame. */
  close(): void {
    this.ws.terminate();
  }
}
