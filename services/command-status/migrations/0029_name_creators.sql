-- Who requested the command, as `<type>/<id>`: a management key, a user of the console, or a part
-- of kapi. null: the command message has not arrived, or a process of release 0.1.0 accepted or
-- stored the command.
alter table command_ids add column created_by text;
