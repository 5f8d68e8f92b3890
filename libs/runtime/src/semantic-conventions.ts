/**
 * Attribute names of traces and metrics: names of OpenTelemetry's semantic conventions (1.37), and
 * our names under `kapi.`. Only this file has them, so that all processes use the same names. Other
 * labels of a metric, such as `topic`, are declared with the metric.
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
  /** The result of an attempt. */
  commandOutcome: "kapi.command.outcome",
  /** Number of commands, changes or events in a batch, including those without a trace. */
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
 * Values of {@link ATTRIBUTE.messagingSystem}: `system` for Kafka, `streams` for the usage streams
 * in Redis. `send` and `process` are values of the messaging operations.
 */
export const MESSAGING = { system: "kafka", streams: "redis", send: "send", process: "process" } as const;

/** The HTTP and Kafka header with the parent span (W3C Trace Context). */
export const TRACEPARENT_HEADER = "traceparent";
