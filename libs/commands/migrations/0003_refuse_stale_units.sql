-- Ends a unit whose command another transaction has moved on since the unit read it. An error, so that the commit that is
-- already under way behind the statement is refused; with the code of what may be tried again at once.
create function refuse_stale_unit() returns text language plpgsql as $$
begin
  raise exception 'a command was moved on by another transaction' using errcode = 'serialization_failure';
end
$$;
