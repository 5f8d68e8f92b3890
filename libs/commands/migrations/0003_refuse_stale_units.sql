-- Called by the statement that writes a unit, if another transaction has changed one of the unit's
-- commands since the unit read them. The process sends the commit right after this statement,
-- without waiting for the result. The error makes PostgreSQL roll the transaction back at that
-- commit. The code `serialization_failure` makes the process retry the unit at once.
create function refuse_stale_unit() returns text language plpgsql as $$
begin
  raise exception 'a command was moved on by another transaction' using errcode = 'serialization_failure';
end
$$;
