import type { InternalClient } from "@kapi/http";
import { createKafka, startProducer, type KafkaConnection, type Producer } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import { startOwnerClient, createTestEnvironment, type TestEnvironment } from "@kapi/testkit";

import { ConfigSchema } from "../src/config.ts";
import { startService } from "../src/service.ts";

/** command-status in this process, with its test environment, a producer and a client. */
export interface Running {
  readonly environment: TestEnvironment;
  readonly kafka: KafkaConnection;
  readonly producer: Producer;
  readonly url: string;
  readonly client: InternalClient;
  readonly health: Health;
  stop(): Promise<void>;
}

/** Starts the service; `env` overrides variables. `stop` does not stop a `given` environment. */
export async function startRunning(
  given?: TestEnvironment,
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const environment = given ?? (await createTestEnvironment());
  const scope = new Scope();
  const logger = createLogger({ service: "command-status", level: "error" });
  const health = new Health();
  const config = loadConfig(ConfigSchema, { ...environment.env, HTTP_PORT: "0", ...env });
  const fatal = (error: unknown): void => {
    throw error;
  };
  const { url } = await startService({ config, scope, logger, health, clock: systemClock, fatal });
  const kafka = createKafka({
    brokers: config.KAFKA_BROKERS,
    clientId: "test",
    topicPrefix: environment.topicPrefix,
    logger,
  });
  const producer = await scope.start("producer", () => startProducer(kafka));
  const { secrets } = environment;
  const client = await scope.start("client", () =>
    startOwnerClient({ secrets, owner: "command-status", baseUrl: url, timeoutMs: 15_000 }),
  );
  const stop = async (): Promise<void> => {
    await scope.stop();
    if (given === undefined) await environment.stop();
  };
  return { environment, kafka, producer, url, client, health, stop };
}
