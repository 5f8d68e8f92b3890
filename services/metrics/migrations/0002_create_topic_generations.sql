-- Which of Kafka's topics of the same name came after which: a topic that is deleted and made again has another id, and
-- its offsets begin again. Offsets are ordered by generation first (src/domain/topic-position.ts).
create table topic_generations (
  topic text not null,
  topic_id uuid not null,
  generation integer not null check (generation >= 0 and generation < 512),
  registered_at timestamptz not null default now(),
  primary key (topic, topic_id),
  unique (topic, generation)
);
