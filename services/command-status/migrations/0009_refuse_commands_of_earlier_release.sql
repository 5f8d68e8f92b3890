-- Release 0.1.0 stores new commands in `commands`, without a row in `command_ids`. From
-- `monthly_from` on, later releases would not find these commands. So the trigger rejects the
-- inserts of release 0.1.0 (docs/upgrades.md). Later releases insert the row of `command_ids`
-- earlier in the same statement. The function sees this row because the function is volatile.
create function refuse_commands_of_earlier_release() returns trigger language plpgsql volatile as $$
begin
  if now() >= (select monthly_from from command_placement)
    and not exists (select from command_ids where command_id = new.command_id and month = new.month)
  then
    raise exception 'release 0.1.0 can no longer store commands: this database stores new commands by month since %',
        (select monthly_from from command_placement)
      using hint = 'Start a release later than 0.1.0. See docs/upgrades.md, "From 0.1.0: commands by month".';
  end if;
  return new;
end $$;

create trigger refuse_commands_of_earlier_release before insert on commands
  for each row execute function refuse_commands_of_earlier_release();
