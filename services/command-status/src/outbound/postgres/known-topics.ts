import { type Database, statement } from "@kapi/postgres";

import type { KnownTopics, StoredTopic } from "../../domain/ports.ts";

/**
 * A position that has no id yet gets this one, any other keeps its own. Rows in the order of the
 * intake's statements.
 */
const REMEMBER = statement<{ topic: string; topic_id: string }>(
  "remember_topics",
  `insert into positions (topic, partition, next_offset, topic_id)
   select topic, partition, 0, topic_id from unnest($1::text[], $2::integer[], $3::uuid[]) as assigned (topic, partition, topic_id)
   order by topic, partition
   on conflict (topic, partition) do update set topic_id = coalesce(positions.topic_id, excluded.topic_id)
   returning topic, topic_id`,
);
const STORED = statement<{ topic: string; topic_id: string }>(
  "stored_topics",
  "select distinct topic, topic_id from positions where topic_id is not null",
);

/** The ids of topics beside their positions in PostgreSQL. */
export function createKnownTopics(database: Database): KnownTopics {
  return {
    remember: async (assigned) => {
      const places = assigned.flatMap(({ topic, topicId, partitions }) =>
        partitions.map((partition) => ({ topic, topicId, partition })),
      );
      const columns = [
        places.map(({ topic }) => topic),
        places.map(({ partition }) => partition),
        places.map(({ topicId }) => topicId),
      ];
      return (await database.query(REMEMBER, columns)).map(fromRow);
    },
    stored: async () => (await database.query(STORED, [])).map(fromRow),
  };
}

function fromRow(row: { topic: string; topic_id: string }): StoredTopic {
  return { topic: row.topic, topicId: row.topic_id };
}
