import { once } from "node:events";

import type { AccountMetricsFrame } from "@kapi/contracts";
import { LIVE_METRICS_PATH } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { WebSocket } from "ws";

export type Frame = { readonly type: string } & Record<string, unknown>;

/** A client of the live stream, as a customer's program would be. */
export class LiveClient {
  readonly ws: WebSocket;
  /** All received texts, in order. */
  readonly texts: string[] = [];
  closeCode: number | null = null;

  readonly #last = new Map<string, number>();

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on("message", (data: Buffer) => this.#take(data.toString()));
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

  frames(type?: string): Frame[] {
    const frames = this.texts.filter((text) => text.startsWith("{")).map((text) => JSON.parse(text) as Frame);
    return type === undefined ? frames : frames.filter((frame) => frame.type === type);
  }

  samples(accountNumber: string): AccountMetricsFrame[] {
    const samples = this.frames("account.metrics") as unknown as AccountMetricsFrame[];
    return samples.filter((sample) => sample.accountNumber === accountNumber);
  }

  /** The sequence of the last received sample; 0 before the first. */
  last(accountNumber: string): number {
    return this.#last.get(accountNumber) ?? 0;
  }

  sequences(accountNumber: string): number[] {
    return this.samples(accountNumber).map(({ sequence }) => sequence);
  }

  #take(text: string): void {
    this.texts.push(text);
    if (!text.startsWith('{"type":"account.metrics",')) return;
    const sample = JSON.parse(text) as AccountMetricsFrame;
    this.#last.set(sample.accountNumber, sample.sequence);
  }

  async until(what: () => boolean): Promise<void> {
    await eventually(what, { timeoutMs: 20_000 });
  }

  close(): void {
    this.ws.terminate();
  }
}
