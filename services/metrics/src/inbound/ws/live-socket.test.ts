import { EventEmitter } from "node:events";
import { Writable } from "node:stream";

import { LIVE_METRICS_SCOPE } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { keyEntry, serverEntry, TestClock } from "@kapi/testkit";
import type { WebSocket } from "ws";
import { expect, it } from "vitest";

import { encodeSampleHeaders } from "@kapi/contracts/codec";
import { SampleWindows } from "../../domain/sample-windows.ts";
import { DirectSamples } from "../../operations/direct-samples.ts";
import { SampleLog } from "../../operations/sample-log.ts";
import { SubscriptionHub } from "./subscription-hub.ts";
import { LiveSocket } from "./live-socket.ts";
import { SocketWriter } from "./socket-writer.ts";

const ACCOUNTS = ["10000001", "10000002", "10000003"];
const MAX_BUFFERED_BYTES = 200;
const SAMPLES_A_TURN = 5;

/** A network that completes writes only on request. */
class SlowNetwork extends Writable {
  readonly texts: string[] = [];
  #release: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    this.texts.push(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString("latin1"));
    this.#release.push(callback);
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this._writev([{ chunk }], callback);
  }

  release(): void {
    for (const callback of this.#release.splice(0)) callback();
  }
}

/** A client's socket: has only the parts of a `ws` socket that this test uses. */
class SilentSocket extends EventEmitter {
  readonly isPaused = false;
  pause(): void {}
  resume(): void {}
  close(): void {}
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

function newLog(clock: TestClock): SampleLog {
  const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 8 * 1_024 * 1_024, slabBytes: 1_024 * 1_024 };
  return new SampleLog({ windows: new SampleWindows(limits), clock, partitionOf: () => 0 });
}

it("a socket sends samples of all its accounts in turn, even if the client's network never accepts all samples", async () => {
  const clock = new TestClock(0);
  const log = newLog(clock);
  const existence = {
    forget: () => undefined,
    exist: (accounts: readonly unknown[]) => Promise.resolve(accounts.map(() => true)),
  };
  const source = new DirectSamples({
    log,
    existence,
    logger: createLogger({ service: "metrics-test", level: "silent" }),
  });
  const hub = new SubscriptionHub({ source, read: (...range) => source.frames(...range), clock });
  log.listen(hub);
  const { entry: key } = keyEntry({ scopes: [LIVE_METRICS_SCOPE] });
  const server = serverEntry({ organizationId: key.organizationId });
  const network = new SlowNetwork();
  const writer = new SocketWriter({
    socket: network,
    maxBufferedBytes: MAX_BUFFERED_BYTES,
    isOpen: () => true,
    onDrain: () => live.drained(),
  });
  const ws = new SilentSocket();
  const live = new LiveSocket({
    context: {
      source,
      hub,
      directory: {
        key: () => key,
        server: () => server,
        servers: () => [server],
        prices: () => expect.unreachable(),
        onChange: () => () => undefined,
        check: () => null,
      },
      clock,
      limits: {
        maxSubscriptions: ACCOUNTS.length,
        maxMessagesPerSecond: 1_000,
        stuckTimeoutMs: 1_000_000,
        catchUpTimeoutMs: 0,
      },
    },
    ws: ws as unknown as WebSocket,
    writer,
    key,
    sessionId: "a session",
  });
  const { serverId } = server;
  let sequence = 0;
  const samplesOfAll = (): void => {
    for (const accountNumber of ACCOUNTS) {
      for (let next = sequence + 1; next <= sequence + SAMPLES_A_TURN; next += 1) {
        const value = Buffer.from(
          `sample ${next} of ${accountNumber}, long enough that a few of these fill the buffer`,
        );
        const headers = encodeSampleHeaders({ sequence: next, from: next - 2, to: next - 1 });
        log.apply(0, [
          { key: `${serverId}/${accountNumber}`, value, headers, offset: BigInt(next), timestampMs: clock.nowMs() },
        ]);
      }
    }
    sequence += SAMPLES_A_TURN;
  };
  samplesOfAll();
  for (const accountNumber of ACCOUNTS) {
    ws.emit("message", Buffer.from(JSON.stringify({ type: "subscribe", serverId, accountNumber })), false);
  }
  for (let round = 0; round < 2 * ACCOUNTS.length; round += 1) {
    samplesOfAll();
    await turn();
    network.release();
    await turn();
  }
  const sent = network.texts.join("");
  for (const accountNumber of ACCOUNTS) expect(sent).toContain(`sample ${2 * SAMPLES_A_TURN} of ${accountNumber}`);
});
