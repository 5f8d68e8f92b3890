import net from "node:net";
import tls from "node:tls";

import type { TopicContract } from "@kapi/contracts";
import { retry } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import { Kafka, type KafkaConfig, type LogEntry, logLevel, type RetryOptions, type SASLOptions } from "kafkajs";

import { asError, isUnreachable } from "./errors.ts";
import type { GrowthWatch } from "./growth.ts";

const CONNECT_TIMEOUT_MS = 3_000;
/** Pause between two rounds of connection attempts; a round takes about 10 s. */
const CONNECT_PAUSE_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
const SESSION_TIMEOUT_MS = 10_000;

/**
 * Retries of kafkajs: after 50 ms, then with growing pauses of at most half a second. The default
 * pauses of kafkajs grow to many seconds: the first acknowledgement after a broker's restart would
 * come 17 s late.
 */
const RETRY: RetryOptions = { initialRetryTime: 50, multiplier: 1.5, factor: 0.2, maxRetryTime: 500 };
/** Number of retries; their pauses take about 10 s together. */
const RETRIES = 25;
/**
 * If a broker does not answer within this time, the request is sent again over another connection.
 * The timeout of a request that the broker may hold for longer is the time of the hold and a
 * margin: 100 ms for a fetch, 5 s for a join.
 */
export const REQUEST_TIMEOUT_MS = 4_000;
/** kafkajs namespaces that log every attempt to reach a broker. */
const FREQUENT = new Set(["Connection", "BrokerPool"]);
/** The beginning of kafkajs's log message for an error response. */
const ERROR_RESPONSE = "Response ";

/** The address of a Kafka cluster, and the name of this process there. */
export interface KafkaOptions {
  /** host:port of one or more brokers. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /**
   * Prefix of every topic name; lets several deployments, or tests, share a cluster. May be empty.
   */
  readonly topicPrefix: string;
  readonly logger: Logger;
  /**
   * Time without a heartbeat after which a consumer group removes a member of this process, and its
   * partitions move to other members. After a crash, nobody handles the partitions for this time.
   * Default 10,000.
   */
  readonly sessionTimeoutMs?: number;
  readonly ssl?: tls.ConnectionOptions | boolean;
  readonly sasl?: SASLOptions;
}

type OnProblem = (isAnswer: boolean) => void;

/** Settings in which one kind of client differs from the default. */
export interface ClientTuning {
  readonly requestTimeoutMs?: number;
  /** Number of retries before kafkajs gives up, each after a pause of at most half a second. */
  readonly retries?: number;
  /**
   * Called after each failed connection attempt and each failed request. `isAnswer`: a broker
   * answered the request with an error.
   */
  readonly onProblem?: OnProblem;
}

/**
 * The configuration for reaching a cluster. It holds no connection: each producer, consumer and
 * reader has its own.
 */
export interface KafkaConnection {
  /**
   * Every producer of this connection asks the watch whether it may send. Absent in jobs, in the
   * operator's command line and in most tests: their producers send at any time.
   */
  growth?: GrowthWatch;
  readonly logger: Logger;
  readonly topicPrefix: string;
  readonly sessionTimeoutMs: number;
  /** The name of `topic` in the cluster: the prefix, then the name of the contract. */
  topicName(topic: TopicContract): string;
  /** Creates a client of kafkajs. Only this library, and tests, call this method. */
  client(tuning?: ClientTuning): Kafka;
  /**
   * Connects a client. Only this library calls this method. Throws a one-line error with the
   * brokers and the reason: no broker answers, a certificate is not trusted, or a password is
   * wrong. The cause of this error is the error of kafkajs.
   */
  connect(client: { connect(): Promise<void> }): Promise<void>;
  /**
   * Connects a client as `connect` does, but waits for brokers that cannot be reached, and logs
   * that it waits.
   */
  connectWaiting(client: { connect(): Promise<void> }): Promise<void>;
}

/** Describes how to reach a cluster; does not connect. */
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
        isRetryable: isUnreachable,
        onFailure: (error) => options.logger.warn({ error: asError(error).message }, "waiting for Kafka"),
      });
    },
  };
}

/**
 * Opens a socket without Nagle's algorithm, which can delay the end of a request by 40 ms. kafkajs
 * leaves this algorithm on.
 */
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
 * kafkajs logs failures as errors even if it recovers from them, so each level is lowered by one.
 * While a broker is unavailable, each connection logs several times a second: these entries are
 * logged at level debug. Only the fields listed here are kept, so that no part of a message reaches
 * the log.
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
