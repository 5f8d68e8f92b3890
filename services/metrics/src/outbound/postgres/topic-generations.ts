import { type Database, statement } from "@kapi/postgres";

import type { TopicGeneration, TopicGenerationStore } from "../../domain/ports.ts";

const MAX_TRIES = 5;

// If two processes register at the same time, one inserts the next number, and the other retries.
const INSERT_GENERATION = statement(
  "topic_generations_insert",
  `insert into topic_generations (topic, topic_id, generation)
   select $1, $2, coalesce(max(generation) + 1, 0) from topic_generations where topic = $1
   on conflict do nothing`,
);
const SELECT_GENERATION = statement<{ readonly generation: number; readonly age_ms: number }>(
  "topic_generations_select",
  `select generation, extract(epoch from now() - registered_at)::float8 * 1000 as age_ms
   from topic_generations where topic = $1 and topic_id = $2`,
);

/** The generations of topics, numbered in the order in which their ids were first seen. */
export function createTopicGenerationStore(database: Database): TopicGenerationStore {
  return {
    register: async (topic, topicId): Promise<TopicGeneration> => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const [row] = await database.query(SELECT_GENERATION, [topic, topicId]);
        if (row !== undefined) return { generation: row.generation, ageMs: row.age_ms };
        await database.query(INSERT_GENERATION, [topic, topicId]);
      }
      throw new Error(`the id ${topicId} of topic ${topic} could not be registered in ${MAX_TRIES} tries`);
    },
  };
}
