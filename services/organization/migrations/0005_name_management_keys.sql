-- What the console shows of a key beside its directory record. Of keys revoked before now nobody noted when.
alter table management_keys
  add column name text not null default 'Management key',
  add column revoked_at timestamptz;
