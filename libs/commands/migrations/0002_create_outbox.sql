-- Messages that are committed and perhaps not yet published. Rows live for milliseconds, except after a crash.
create table outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  key text not null,
  value text not null,
  created_at timestamptz not null default now()
)
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
