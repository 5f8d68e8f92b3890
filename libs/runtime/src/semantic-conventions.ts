/**
 * The words of traces and metrics, as OpenTelemetry's semantic conventions (1.37) write them, and
 * ours under `kapi.`: in this file alone, so that one process's word is every other's.
 */
export const ATTRIBUTE = {
  errorType: "error.type",
  httpMethod: "http.request.method",
  httpRoute: "http.route",
  httpStatus: "http.response.status_code",
  urlPath: "url.path",
  serverAddress: "server.address",
  serverPort: "server.port",
  messagingSystem: "messaging.system",
  messagingOperationName: "messaging.operation.name",
  messagingOperationType: "messaging.operation.type",
  messagingDestination: "messaging.destination.name",
  messagingPartition: "messaging.destination.partition.id",
  messagingConsumerGroup: "messaging.consumer.group.name",
  messagingBatchCount: "messaging.batch.message_count",
  messagingKafkaOffset: "messaging.kafka.offset",
  /** The operation of the interface, such as `depositAccountFunds`. */
  operation: "kapi.operation",
  /** `X-Request-Id` of an HTTP request. */
  requestId: "kapi.request.id",
  commandId: "kapi.command.id",
  /** Which attempt of the command, from 1. */
  commandAttempt: "kapi.command.attempt",
  /** What a command came to in an attempt. */
  commandOutcome: "kapi.command.outcome",
  /** Commands, changes or events that a batch holds, those without a trace included. */
  batchSize: "kapi.batch.size",
  /** A trading server's id. */
  tradingServer: "kapi.server.id",
  /** The `webhook-id` of a delivery. */
  webhookEvent: "kapi.webhook.event.id",
  webhookEndpoint: "kapi.webhook.endpoint.id",
  /** Which attempt of the delivery, from 1. */
  webhookAttempt: "kapi.webhook.attempt",
} as const;

/**
 * Values of {@link ATTRIBUTE.messagingSystem} (`streams`: of usage on its way to the ledger) and of
 * the operations on it.
 */
export const MESSAGING = { system: "kafka", streams: "redis", send: "send", process: "process" } as const;

/** The HTTP header and the Kafka header that carry a trace on (W3C Trace Context). */
export const TRACEPARENT_HEADER = "traceparent";
