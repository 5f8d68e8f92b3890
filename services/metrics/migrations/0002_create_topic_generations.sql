-- Numbers the ids that Kafka gave a topic, in their order: the generations of the topic. A topic
-- that is deleted and recreated has a new id, and its offsets restart at 0. Positions are ordered
-- by generation, then by offset (services/metrics/src/domain/topic-position.ts).
create table topic_generations (
  topic text not null,
  topic_id uuid not null,
  -- Below 512, so that each position is a safe integer of JavaScript.
  generation integer not null check (generation >= 0 and generation < 512),
  registered_at timestamptz not null default now(),
  primary key (topic, topic_id),
  unique (topic, generation)
);
