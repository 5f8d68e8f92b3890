/** The request log of a process that answers requests with management keys. */
import { type RequestLog, startRequestLog } from "@kapi/admission";
import { type KafkaConnection, startProducer } from "@kapi/kafka";
import type { MainContext } from "@kapi/runtime";

/** Records that Kafka does not acknowledge in this time are lost. */
const PRODUCE_TIMEOUT_MS = 5_000;

/** Starts the request log with a producer of its own, so that it never delays other messages. */
export async function startServiceRequestLog(
  { scope, clock, logger }: Pick<MainContext<unknown>, "scope" | "clock" | "logger">,
  kafka: KafkaConnection,
): Promise<RequestLog> {
  const producer = await scope.start("request log producer", () =>
    startProducer(kafka, { produceTimeoutMs: PRODUCE_TIMEOUT_MS }),
  );
  return scope.start("request log", () => startRequestLog({ producer, clock, logger }));
}
