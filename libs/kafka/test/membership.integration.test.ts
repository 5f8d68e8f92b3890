/** Group membership is checked independently of kafkajs; a fatal error is reported unchanged. */
import { TOPICS } from "@kapi/contracts";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type Consumer,
  type ConsumerOptions,
  startConsumer,
  startProducer,
  type KafkaConnection,
} from "../src/index.ts";
import { changeRequests, logger, ownTopics, unexpected, until } from "./support.ts";

const METADATA = 3;
const OFFSET_COMMIT = 8;
const JOIN_GROUP = 11;
const SYNC_GROUP = 14;
/** Brokers allow at most half an hour. */
const REFUSED_SESSION_TIMEOUT_MS = 24 * 3_600_000;
/** The clock runs this many times faster: a limit of 30 s ends after 3 s. */
const SPEED = 10;
const clock = { nowMs: () => Math.round(performance.now() * SPEED) };

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
  const producer = await startProducer(kafka);
  await producer.value.send(TOPICS.commandsAccount, { key: "k", value: "x" });
  await producer.stop();
});
afterAll(() => drop());

function consumer(
  by: KafkaConnection,
  options: Pick<ConsumerOptions, "groupId" | "fatal">,
): Promise<Started<Consumer>> {
  return startConsumer(by, {
    topics: [TOPICS.commandsAccount],
    logger,
    heartbeatIntervalMs: 100,
    maxWaitTimeInMs: 20,
    clock,
    onBatch: () => Promise.resolve({}),
    ...options,
  });
}

/** A connection whose consumers see no acknowledged heartbeat. */
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

interface MetadataAnswer {
  readonly topicMetadata: readonly { readonly partitionMetadata: readonly object[] }[];
}

function withoutBrokers(answer: MetadataAnswer): object {
  const topicMetadata = answer.topicMetadata.map((topic) => ({
    ...topic,
    partitionMetadata: topic.partitionMetadata.map((partition) => ({ ...partition, leader: -1 })),
  }));
  return { ...answer, brokers: [], topicMetadata };
}

test.each([
  ["no heartbeat was acknowledged", (by: KafkaConnection) => withoutHeartbeats(by)],
  [
    "no commit was accepted",
    (by: KafkaConnection) => changeRequests(by, OFFSET_COMMIT, () => Promise.reject(new Error("refused"))),
  ],
])(
  "a consumer that still fetches, but is no longer a member of its group, calls `fatal` with the reason: %s",
  async (reason, cutOff) => {
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
  },
);

test("if the metadata contain no broker during a join, the consumer continues as soon as they contain one", async () => {
  // A fenced broker lists no brokers, not even itself, and still answers as the coordinator.
  let isFenced = false;
  const joins = changeRequests(kafka, JOIN_GROUP, async (sent, send) => {
    const answer = await send(sent);
    isFenced = true;
    return answer;
  });
  const syncs = changeRequests(joins, SYNC_GROUP, (sent, send) => {
    isFenced = false;
    return send(sent);
  });
  const fenced = changeRequests(syncs, METADATA, (sent, send) => {
    const decode = async (bytes: Buffer): Promise<unknown> => {
      const answer = (await sent.response.decode(bytes)) as MetadataAnswer;
      return isFenced ? withoutBrokers(answer) : answer;
    };
    return send({ ...sent, response: { ...sent.response, decode } });
  });
  let handled = 0;
  const started = await startConsumer(fenced, {
    groupId: "fenced",
    topics: [TOPICS.commandsAccount],
    restartBeyondEnd: true,
    logger,
    fatal: unexpected,
    onBatch: ({ messages }) => {
      handled += messages.length;
      return Promise.resolve({});
    },
  });
  await until("the message is handled", () => handled === 1);
  await started.stop();
});

test("an error before the first join rejects the start and is reported once, unchanged", async () => {
  const errors: Error[] = [];
  const started = consumer(
    { ...kafka, sessionTimeoutMs: REFUSED_SESSION_TIMEOUT_MS },
    { groupId: "refused", fatal: (error) => void errors.push(error) },
  );
  await expect(started).rejects.toThrow("The session timeout is not within the range");
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("The session timeout is not within")]);
});
