-- `created_at` shows how long a message has waited. `traceparent` (W3C Trace Context) names the
-- span of the change, and the message is published in the same trace; null: the change is not
-- traced.
alter table outbox
  add column created_at timestamptz not null default now(),
  add column traceparent text;
