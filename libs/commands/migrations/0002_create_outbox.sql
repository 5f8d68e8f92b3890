-- Messages that are committed and possibly not published yet. A row has all messages of one
-- transaction, because a separate row for each message was more expensive than the change that the
-- message reports. A row is deleted about 100 ms after its messages are published. It stays longer
-- after a crash, or while Kafka does not accept its messages.
create table outbox (
  id bigint generated always as identity primary key,
  -- Each message has three lines: topic, key, value. The text is not compressed, because nearly all
  -- rows are deleted without having been read.
  messages text storage external not null,
  created_at timestamptz not null default now()
)
with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000
);
