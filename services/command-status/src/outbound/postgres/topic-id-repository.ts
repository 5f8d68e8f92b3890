import { type Database, statement } from "@kapi/postgres";

import type { TopicIdRepository, StoredTopicId } from "../../domain/ports.ts";

/**
 * A partition whose topic id is stored keeps it. The rows are locked in the order of topic and
 * partition, as in `ingest-statements.ts`.
 */
const STORE_IF_MISSING = statement<{ topic: string; topic_id: string }>(
  "remember_topics",
  `insert into positions (topic, partition, next_offset, topic_id)
   select topic, partition, 0, topic_id from unnest($1::text[], $2::integer[], $3::uuid[]) as assigned (topic, partition, topic_id)
   order by topic, partition
   on conflict (topic, partition) do update set topic_id = coalesce(positions.topic_id, excluded.topic_id)
   returning topic, topic_id`,
);
const FIND_ALL = statement<{ topic: string; topic_id: string }>(
  "stored_topics",
  "select distinct topic, topic_id from positions where topic_id is not null",
);

/** The topic ids that are stored with the positions, in PostgreSQL. */
export function createTopicIdRepository(database: Database): TopicIdRepository {
  return {
    storeIfMissing: async (assigned) => {
      const positions = assigned.flatMap(({ topic, topicId, partitions }) =>
        partitions.map((partition) => ({ topic, topicId, partition })),
      );
      const columns = [
        positions.map(({ topic }) => topic),
        positions.map(({ partition }) => partition),
        positions.map(({ topicId }) => topicId),
      ];
      return (await database.query(STORE_IF_MISSING, columns)).map(fromRow);
    },
    findAll: async () => (await database.query(FIND_ALL, [])).map(fromRow),
  };
}

function fromRow(row: { topic: string; topic_id: string }): StoredTopicId {
  return { topic: row.topic, topicId: row.topic_id };
}
