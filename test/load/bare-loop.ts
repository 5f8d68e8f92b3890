/**
 * The baseline of `bench -- accept`: a Fastify server. For each request it makes one Redis function
 * call and publishes one message, in a batch, with acks=all. It does no validation and no look-up.
 * Instead of an idempotency record it only stores the body. Prints its address as JSON when it
 * listens.
 */
import { TOPICS } from "@kapi/contracts";
import { createKafka, startProducer, createTopics } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { fastify } from "fastify";
import { Redis } from "ioredis";

const FUNCTION = `#!lua name=bareloop
redis.register_function('bare_take', function(keys, args)
  redis.call('HINCRBY', keys[1], 'available', -1)
  redis.call('HINCRBY', keys[1], 'reserved', 1)
  redis.call('SET', keys[2], args[1], 'EX', 60)
  return 1
end)`;

/** Prefix of topics that no service reads. */
const TOPIC_PREFIX = "bare-loop.";
/** As many as kapi's own topics have on one machine. */
const PARTITIONS = 4;

const logger = createLogger({ service: "bare-loop", level: "error" });
const redis = new Redis(process.env["REDIS_URL"] ?? "", { enableAutoPipelining: true });
await redis.call("FUNCTION", "LOAD", "REPLACE", FUNCTION);
const kafka = createKafka({
  brokers: (process.env["KAFKA_BROKERS"] ?? "").split(","),
  clientId: "bare-loop",
  topicPrefix: TOPIC_PREFIX,
  logger,
});
await createTopics(kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1 });
const producer = await startProducer(kafka, {});
const app = fastify();
let count = 0;
app.post("/bare", async (request) => {
  count += 1;
  const key = `{bare}:${count}`;
  const value = JSON.stringify(request.body);
  await redis.call("FCALL", "bare_take", 2, "{bare}:wallet", key, value);
  await producer.value.send(TOPICS.commandsFinance, { key, value });
  return { accepted: true };
});
const url = await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${JSON.stringify({ url })}\n`);
