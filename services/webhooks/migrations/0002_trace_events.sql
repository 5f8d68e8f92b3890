-- The span (W3C traceparent) that an event was recorded beneath; null where none is recorded. Attempts stand beneath it
-- however much later they are made, and by whichever process.
alter table events add column traceparent text;
