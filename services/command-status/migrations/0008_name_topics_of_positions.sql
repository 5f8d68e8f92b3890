-- The id that Kafka gave the topic of a position: a topic that is deleted and made again has
-- another one, and positions of the deleted one say nothing about it. Null until a process of this
-- release has read the partition.
alter table positions add column topic_id uuid;
