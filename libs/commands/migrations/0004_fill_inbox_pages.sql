-- A change of state is a change of `command_inbox_open`, so the new version of a row gains nothing
-- by being in the same page, and room that is left for it is never used. Full pages take 160 bytes
-- for a final command, not 215.
alter table command_inbox set (fillfactor = 100);
