import net from "node:net";
import tls from "node:tls";

import type { TopicContract } from "@kapi/contracts";
import { retry } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import { Kafka, type KafkaConfig, type LogEntry, logLevel, type RetryOptions, type SASLOptions } from "kafkajs";

import { asError, isAway } from "./errors.ts";

const CONNECT_TIMEOUT_MS = 3_000;
/** Between two rounds of tries, each of about 10 s. */
const CONNECT_PAUSE_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
const SESSION_TIMEOUT_MS = 10_000;

/**
 * How kafkajs tries again: from 50 ms, growing, never more than half a second apart. Its defaults grow to many seconds,
 * and after a broker's restart the first acknowledgement then comes 17 s late.
 */
const RETRY: RetryOptions = { initialRetryTime: 50, multiplier: 1.5, factor: 0.2, maxRetryTime: 500 };
/** About 10 s. */
const RETRIES = 25;
/**
 * A broker that does not answer for so long is asked over another connection. Requests that wait on purpose (a fetch, a
 * join) have their wait added. A frozen connection is noticed within 5 s.
 */
export const REQUEST_TIMEOUT_MS = 4_000;
/** kafkajs namespaces that log every try to reach a broker. */
const FREQUENT = new Set(["Connection", "BrokerPool"]);
/** How kafkajs begins its log entry of an error response. */
const ERROR_RESPONSE = "Response ";

/** Where a Kafka cluster is and how this process calls itself there. */
export interface KafkaOptions {
  /** host:port of one or more brokers. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Put before every topic name; lets several deployments, or tests, share a cluster. May be empty. */
  readonly topicPrefix: string;
  readonly logger: Logger;
  /**
   * How long the members of this process's consumer groups may be silent before their partitions go to others; also how
   * long their work rests after a crash. Default 10,000.
   */
  readonly sessionTimeoutMs?: number;
  readonly ssl?: tls.ConnectionOptions | boolean;
  readonly sasl?: SASLOptions;
}

type OnProblem = (isAnswer: boolean) => void;

/** What one kind of client needs otherwise than the others. */
export interface ClientTuning {
  readonly requestTimeoutMs?: number;
  /** How often kafkajs tries again, half a second apart, before it gives up. */
  readonly retries?: number;
  /** Called for each failed try to reach a broker; `isAnswer`: a broker answered with an error. */
  readonly onProblem?: OnProblem;
}

/** A way to reach a cluster. It holds no connection itself: producers, consumers and readers each have their own. */
export interface KafkaConnection {
  readonly logger: Logger;
  readonly topicPrefix: string;
  readonly sessionTimeoutMs: number;
  /** The name of `topic` in the cluster: the prefix, then the name of the contract. */
  topicName(topic: TopicContract): string;
  /** For this library only. */
  client(tuning?: ClientTuning): Kafka;
  /**
   * Connects a client; for this library only. Throws one line that tells the brokers and why: where nobody answers, a
   * certificate is not trusted or a password is wrong. The error of kafkajs is its cause.
   */
  connect(client: { connect(): Promise<void> }): Promise<void>;
  /** The same, but waits for brokers that cannot be reached, and says so in the log: a process waits for its cluster. */
  connectWaiting(client: { connect(): Promise<void> }): Promise<void>;
}

/** Describes how to reach a cluster; connects nowhere yet. */
export function createKafka(options: KafkaOptions): KafkaConnection {
  const at = `Kafka at ${options.brokers.join(",")}`;
  const configOf = (onProblem?: OnProblem): KafkaConfig => ({
    brokers: [...options.brokers],
    clientId: options.clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    logLevel: logLevel.INFO,
    logCreator: () => logTo(options.logger, onProblem),
    socketFactory: openSocket,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
  });
  return {
    logger: options.logger,
    topicPrefix: options.topicPrefix,
    sessionTimeoutMs: options.sessionTimeoutMs ?? SESSION_TIMEOUT_MS,
    topicName: (topic) => options.topicPrefix + topic.name,
    client: ({ requestTimeoutMs = REQUEST_TIMEOUT_MS, retries = RETRIES, onProblem } = {}) =>
      new Kafka({ ...configOf(onProblem), requestTimeout: requestTimeoutMs, retry: { ...RETRY, retries } }),
    connect: async (client) => {
      await client.connect().catch((error: unknown) => {
        throw new Error(`${at} cannot be used: ${asError(error).message}`, { cause: error });
      });
    },
    async connectWaiting(client) {
      await retry(() => this.connect(client), {
        backOff: { firstMs: CONNECT_PAUSE_MS },
        isRetryable: isAway,
        onFailure: (error) => options.logger.warn({ error: asError(error).message }, "waiting for Kafka"),
      });
    },
  };
}

/** kafkajs leaves Nagle's algorithm on, which can hold the end of a request back by 40 ms; this turns it off. */
const openSocket: NonNullable<KafkaConfig["socketFactory"]> = ({ host, port, ssl, onConnect }) => {
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  const socket = ssl
    ? tls.connect({ host, port, ...servername, ...ssl }, onConnect)
    : net.connect({ host, port }, onConnect);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
};

/**
 * kafkajs logs as errors what it then repairs by itself, so its levels go down by one; and while a broker is away, its
 * connections would tell so several times a second. Of an entry's fields only those named here are kept: no part of a
 * message can reach the log.
 */
function logTo(logger: Logger, onProblem: OnProblem = () => undefined): (entry: LogEntry) => void {
  return ({ level, namespace, log }) => {
    if (FREQUENT.has(namespace) && level === logLevel.ERROR) onProblem(log.message.startsWith(ERROR_RESPONSE));
    const fields = {
      kafkajs: namespace,
      broker: text(log["broker"]),
      groupId: text(log["groupId"]),
      error: text(log["error"]),
    };
    if (FREQUENT.has(namespace) || level >= logLevel.INFO) logger.debug(fields, log.message);
    else if (level === logLevel.WARN) logger.info(fields, log.message);
    else logger.warn(fields, log.message);
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
