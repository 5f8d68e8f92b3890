/**
 * The bare loops of `bench -- live` write each record of `trading.valuations` to sockets, without
 * other work. A bare loop has one of three modes:
 *
 * - `each`: a socket has one account, which its path names. The socket of the account gets the
 *   unchanged value.
 * - `merged`: as `each`, with one write to each socket for all its frames of a batch.
 * - `all`: every socket gets every message. The frame of a message is built once.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import net from "node:net";
import type { Duplex } from "node:stream";

import { TOPICS } from "@kapi/contracts";
import { Kafka, logLevel } from "kafkajs";
import { type WebSocket, WebSocketServer } from "ws";

import { frameHeaderBytes, writeFrameHeader } from "../../services/metrics/src/domain/websocket-frame.ts";
import { serve } from "./bench-live-workers.ts";

const COMMIT_INTERVAL_MS = 1_000;
const MAX_WAIT_MS = 100;
const PARTITIONS_AT_ONCE = 4;

export type BareMode = "each" | "merged" | "all";

export interface BareSettings {
  readonly brokers: string;
  readonly topicPrefix: string;
  readonly mode: BareMode;
}

/** Methods that the parent calls in a bare loop. */
export type BareMethods = {
  /** Listens and joins the group. Returns the port. */
  start(settings: BareSettings): Promise<number>;
};

interface BareSocket {
  readonly ws: WebSocket;
  readonly raw: Duplex;
}

/** The account number in a record key, `<server>/<account number>`. */
function accountOf(key: Buffer): string {
  const text = key.toString();
  return text.slice(text.indexOf("/") + 1);
}

async function listen(onSocket: (ws: WebSocket, raw: Duplex, account: string) => void): Promise<number> {
  const server = createServer();
  const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false });
  server.on("upgrade", (request, socket, head) => {
    wss.handleUpgrade(request, socket, head, (ws) => onSocket(ws, socket, (request.url ?? "").slice(1)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function consume(
  { brokers, topicPrefix }: BareSettings,
  deliver: (account: string, value: Buffer) => void,
  endBatch: () => void,
) {
  const kafka = new Kafka({
    brokers: brokers.split(","),
    clientId: "bench-bare",
    logLevel: logLevel.ERROR,
    socketFactory: ({ host, port, onConnect }) => net.connect({ host, port, noDelay: true }, onConnect),
  });
  const consumer = kafka.consumer({
    groupId: "bench-bare",
    maxWaitTimeInMs: MAX_WAIT_MS,
    allowAutoTopicCreation: false,
  });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.connect();
  await consumer.subscribe({ topic: topicPrefix + TOPICS.tradingValuations.name, fromBeginning: true });
  await consumer.run({
    partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
    autoCommitInterval: COMMIT_INTERVAL_MS,
    eachBatch: ({ batch }) => {
      for (const { key, value } of batch.messages) {
        if (key !== null && value !== null) deliver(accountOf(key), value);
      }
      endBatch();
      return Promise.resolve();
    },
  });
  await joined;
}

function frameOf(value: Buffer): Buffer {
  const headerBytes = frameHeaderBytes(value.length);
  const frame = Buffer.allocUnsafe(headerBytes + value.length);
  writeFrameHeader(frame, 0, value.length);
  value.copy(frame, headerBytes);
  return frame;
}

const methods: BareMethods = {
  start: async (settings) => {
    const byAccount = new Map<string, BareSocket>();
    const sockets: Duplex[] = [];
    const port = await listen((ws, raw, account) => {
      byAccount.set(account, { ws, raw });
      sockets.push(raw);
    });
    const frames = new Map<Duplex, Buffer[]>();
    const deliver: Readonly<Record<BareMode, (account: string, value: Buffer) => void>> = {
      each: (account, value) => byAccount.get(account)?.ws.send(value, { binary: false }),
      merged: (account, value) => {
        const socket = byAccount.get(account)?.raw;
        if (socket === undefined) return;
        const waiting = frames.get(socket);
        if (waiting === undefined) frames.set(socket, [frameOf(value)]);
        else waiting.push(frameOf(value));
      },
      all: (_account, value) => {
        const frame = frameOf(value);
        for (const socket of sockets) socket.write(frame);
      },
    };
    await consume(settings, deliver[settings.mode], () => {
      for (const [socket, waiting] of frames) socket.write(Buffer.concat(waiting));
      frames.clear();
    });
    return port;
  },
};
serve(methods);
