-- Release 0.1.0 stores new commands in `commands` and knows no `command_ids`. From `monthly_from`
-- on this release would not find them, so 0.1.0 is refused (docs/upgrades.md). This release writes
-- the row of `command_ids` earlier in the same statement; the function sees it because it is
-- volatile.
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
