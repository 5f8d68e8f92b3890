/** Whether a consumer is a member of its group is checked from outside kafkajs, and what ends it is told as it is. */
import { TOPICS } from "@kapi/contracts";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type Consumer,
  type ConsumerOptions,
  createConsumer,
  createProducer,
  type KafkaConnection,
} from "../src/index.ts";
import { changeRequests, logger, ownTopics, unexpected, until } from "./support.ts";

const OFFSET_COMMIT = 8;
/** Above what brokers allow, half an hour. */
const REFUSED_SESSION_TIMEOUT_MS = 24 * 3_600_000;
/** So many times faster than the machine's: 30 s without an acknowledgement are 3 s. */
const SPEED = 10;
const clock = { nowMs: () => Math.round(performance.now() * SPEED) };

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
  const producer = await createProducer(kafka);
  await producer.value.send(TOPICS.commandsAccount, { key: "k", value: "x" });
  await producer.stop();
});
afterAll(() => drop());

function consumer(
  by: KafkaConnection,
  options: Pick<ConsumerOptions, "groupId" | "fatal">,
): Promise<Started<Consumer>> {
  return createConsumer(by, {
    topics: [TOPICS.commandsAccount],
    logger,
    heartbeatIntervalMs: 100,
    maxWaitTimeInMs: 20,
    clock,
    onBatch: () => Promise.resolve({}),
    ...options,
  });
}

/** A connection whose consumers hear of no heartbeat that was acknowledged. */
function withoutHeartbeats(by: KafkaConnection): KafkaConnection {
  return {
    ...by,
    client: (tuning) => {
      const client = by.client(tuning);
      const consumerOf = client.consumer.bind(client);
      client.consumer = (config) => {
        const member = consumerOf(config);
        const on = ((event: string, listener: never) =>
          event === member.events.HEARTBEAT
            ? () => undefined
            : member.on(event as never, listener)) as typeof member.on;
        return { ...member, on };
      };
      return client;
    },
  };
}

test.each([
  ["no heartbeat was acknowledged", (by: KafkaConnection) => withoutHeartbeats(by)],
  [
    "no commit was accepted",
    (by: KafkaConnection) => changeRequests(by, OFFSET_COMMIT, () => Promise.reject(new Error("refused"))),
  ],
])("a consumer that fetches and is no member is fatal and says why: %s", async (reason, cutOff) => {
  const groupId = reason.replaceAll(" ", "-");
  const well = await consumer(kafka, { groupId: `${groupId}-well`, fatal: unexpected });
  const errors: Error[] = [];
  const zombie = await consumer(cutOff(kafka), { groupId, fatal: (error) => void errors.push(error) });
  await until("fatal is called", () => errors.length > 0);
  expect(errors[0]?.message).toMatch(`the process is no member of group ${groupId}: ${reason} for `);
  expect(zombie.value.check()).toContain("failed");
  expect(well.value.check()).toBeNull();
  await zombie.stop();
  await well.stop();
  expect(errors).toHaveLength(1);
});

test("an error before the first join is told as it is, once, and ends the start", async () => {
  const errors: Error[] = [];
  const started = consumer(
    { ...kafka, sessionTimeoutMs: REFUSED_SESSION_TIMEOUT_MS },
    { groupId: "refused", fatal: (error) => void errors.push(error) },
  );
  await expect(started).rejects.toThrow("The session timeout is not within the range");
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("The session timeout is not within")]);
});
