/**
 * The trading server of `bench -- live` and `bench -- risk`. It publishes valuations of all
 * accounts in turn at a given rate, with plain kafkajs and the acknowledgement of all replicas. The
 * equity of an account changes with each valuation, so that no valuation is dropped as unchanged.
 */
import net from "node:net";
import { setTimeout } from "node:timers/promises";

import { accountKey, TOPICS, type Valuation } from "@kapi/contracts";
import { Kafka, logLevel, type Message, type Producer } from "kafkajs";

import { serve } from "./bench-live-workers.ts";

/**
 * Minimum time between two requests. Valuations that become due meanwhile form one batch. There is
 * no pause while more than {@link MAX_BATCH} valuations are due.
 */
const INTERVAL_MS = 5;
const MAX_BATCH = 2_000;
const ACKS_ALL = -1;
const BALANCE_MINOR = 100_000_000;
const MARGIN_MINOR = 1_000_000;
const EQUITY_STEPS = 1_000_000;

export interface SourceSettings {
  readonly brokers: string;
  readonly topicPrefix: string;
  readonly serverId: string;
  readonly firstAccount: number;
  readonly accounts: number;
}

/** Methods that the parent calls in the source. */
export type SourceMethods = {
  connect(settings: SourceSettings): Promise<void>;
  /**
   * Publishes for `durationMs`, at most `perSecond` valuations a second. The equity of every
   * `lossEvery`-th valuation is half of the balance. Returns the number of valuations.
   */
  run(order: { readonly perSecond: number; readonly durationMs: number; readonly lossEvery?: number }): Promise<number>;
  /**
   * Publishes `times` valuations of every account, at most `perSecond` valuations a second. Returns
   * their number.
   */
  each(order: { readonly times: number; readonly perSecond: number }): Promise<number>;
};

interface Source {
  readonly settings: SourceSettings;
  readonly producer: Producer;
  readonly topic: string;
}

let source: Source | null = null;
let published = 0;

async function connect(settings: SourceSettings): Promise<void> {
  const kafka = new Kafka({
    brokers: settings.brokers.split(","),
    clientId: "bench-source",
    logLevel: logLevel.ERROR,
    socketFactory: ({ host, port, onConnect }) => net.connect({ host, port, noDelay: true }, onConnect),
  });
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  source = { settings, producer, topic: settings.topicPrefix + TOPICS.tradingValuations.name };
}

/** The next valuation: the accounts take turns. */
function nextMessage(
  { serverId, firstAccount, accounts }: SourceSettings,
  measuredAt: string,
  lossEvery: number,
): Message {
  const accountNumber = String(firstAccount + (published % accounts));
  const isLoss = published % lossEvery === lossEvery - 1;
  const equityMinor = isLoss ? BALANCE_MINOR / 2 : BALANCE_MINOR + (Math.floor(published / accounts) % EQUITY_STEPS);
  published += 1;
  const valuation: Valuation = {
    serverId,
    accountNumber,
    measuredAt,
    balanceMinor: BALANCE_MINOR,
    equityMinor,
    marginMinor: MARGIN_MINOR,
    freeMarginMinor: equityMinor - MARGIN_MINOR,
    marginLevel: Math.round((equityMinor / MARGIN_MINOR) * 10_000) / 100,
    unrealizedProfitMinor: equityMinor - BALANCE_MINOR,
    openPositionCount: 3,
  };
  return { key: accountKey(serverId, accountNumber), value: JSON.stringify(valuation) };
}

async function publish(
  total: number,
  perSecond: number,
  endMs: number,
  lossEvery = Number.POSITIVE_INFINITY,
): Promise<number> {
  if (source === null) throw new Error("the source is not connected");
  const { settings, producer, topic } = source;
  const startedMs = performance.now();
  let sent = 0;
  for (let nowMs = startedMs; sent < total && nowMs < endMs; nowMs = performance.now()) {
    const due = Math.min(total, Math.ceil(((nowMs - startedMs) * perSecond) / 1_000)) - sent;
    if (due > 0) {
      const measuredAt = new Date().toISOString();
      const messages = Array.from({ length: Math.min(due, MAX_BATCH) }, () =>
        nextMessage(settings, measuredAt, lossEvery),
      );
      await producer.send({ topic, messages, acks: ACKS_ALL });
      sent += messages.length;
    }
    if (due <= MAX_BATCH) await setTimeout(Math.max(1, nowMs + INTERVAL_MS - performance.now()));
  }
  return sent;
}

const methods: SourceMethods = {
  connect,
  run: ({ perSecond, durationMs, lossEvery }) =>
    publish(Number.POSITIVE_INFINITY, perSecond, performance.now() + durationMs, lossEvery),
  each: ({ times, perSecond }) => {
    const total = times * (source?.settings.accounts ?? 0);
    return publish(total, perSecond, Number.POSITIVE_INFINITY);
  },
};
serve(methods);
