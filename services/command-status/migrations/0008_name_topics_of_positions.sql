-- Kafka's id of the topic that the position belongs to. A topic that is deleted and created again
-- has a new id, and a position of the deleted topic is not valid for the new one. null: not stored
-- yet. A consumer of a later release than 0.1.0 stores the id at its first batch after an
-- assignment.
alter table positions add column topic_id uuid;
