-- Messages that are committed and perhaps not yet published; a row holds all of one transaction, because a row of its
-- own for each cost more than the change it tells of. Rows live for milliseconds, except after a crash.
create table outbox (
  id bigint generated always as identity primary key,
  -- Three lines a message: topic, key, value. Not compressed: nearly all are deleted without having been read.
  messages text storage external not null,
  created_at timestamptz not null default now()
)
with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000
);
