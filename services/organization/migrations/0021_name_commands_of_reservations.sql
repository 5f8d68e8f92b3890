-- The command that a reservation was made for. A command that is reserved for again has a charge id
-- that is not its own. Null in rows of the release before, whose charge id is the command id.
alter table open_reservations add column command_id uuid;
