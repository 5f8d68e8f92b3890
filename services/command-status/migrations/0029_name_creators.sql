-- Who asked for a command, as `<type>/<id>`; null where release 0.1.0 accepted it.
alter table command_ids add column created_by text;
