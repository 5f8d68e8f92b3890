-- How long a message has waited, and the span (W3C traceparent) that it is sent beneath; null where none is recorded.
alter table outbox
  add column created_at timestamptz not null default now(),
  add column traceparent text;
