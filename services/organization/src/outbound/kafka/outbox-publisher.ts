import { TOPICS, type TopicContract } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";

import { deleteFromOutbox, readOutbox } from "../postgres/outbox.ts";

const MAX_ROWS_PER_BATCH = 500;

const TOPICS_BY_NAME: ReadonlyMap<string, TopicContract> = new Map(
  Object.values(TOPICS).map((topic) => [topic.name, topic]),
);

/**
 * Publishes what the outbox holds, oldest first, and removes what Kafka acknowledged. Two at once may send a row twice:
 * directory records carry versions, facts carry ids.
 */
export async function publishOutbox(database: Database, producer: Pick<Producer, "send">): Promise<void> {
  for (;;) {
    const rows = await readOutbox(database, MAX_ROWS_PER_BATCH);
    if (rows.length === 0) return;
    const sent = rows.map(({ topic, key, value, traceparent }) => {
      const message = { key, value, traceparent: traceparent ?? undefined };
      return producer.send(assertDefined(TOPICS_BY_NAME.get(topic), `topic ${topic}`), message);
    });
    await Promise.all(sent);
    await deleteFromOutbox(
      database,
      rows.map((row) => row.id),
    );
  }
}
