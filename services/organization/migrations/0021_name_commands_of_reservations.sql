-- The command of the reservation. A second or later reservation of a command has a charge id that
-- is not the command id. null: a process of release 0.1.0 recorded the reservation, and its charge
-- id is the command id.
alter table open_reservations add column command_id uuid;
