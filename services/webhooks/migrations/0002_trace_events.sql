-- The span that recorded the event, as W3C traceparent. Every attempt of a delivery is a child of
-- this span, even days later and in another process. null: the trace is not sampled, or release
-- 0.1.0 recorded the event.
alter table events add column traceparent text;
