-- The console service has the people and the audit log, in its own schema. The tables `users` and
-- `audit_log` stay here, because processes of earlier builds still write them: release 0.1.0 writes
-- `users`, and builds between 0.1.0 and this migration write both. Newer processes only pass the
-- rows on to the console service.

-- Entries for the audit log, each written in the transaction of its change. The console service
-- reads the rows, records them in its audit log, and then asks this service to delete them.
create table audit_outbox (
  id uuid primary key,
  entry json not null,
  created_at timestamptz not null default now()
);

-- A row of `audit_log` in the JSON form of the entries in `audit_outbox`.
create function audit_event_of(kept audit_log) returns json language sql stable as $$
  select json_build_object(
    'organizationId', kept.organization_id,
    'at', to_char(kept.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'action', kept.action,
    'actor', case when kept.actor_type is not null
      then json_build_object('type', kept.actor_type, 'id', kept.actor_id) end,
    'address', kept.address,
    'subject', case when kept.subject_type is not null
      then json_build_object('type', kept.subject_type, 'id', kept.subject_id) end,
    'details', kept.details
  )
$$;
-- Copies each entry that a process of an earlier build inserts into `audit_log`.
create function pass_audit_entry_on() returns trigger language plpgsql as $$
begin
  insert into audit_outbox (id, entry) values (coalesce(new.event_id, gen_random_uuid()), audit_event_of(new))
  on conflict (id) do nothing;
  return null;
end
$$;
-- The trigger is created before the existing entries are copied. Its lock blocks inserts until this
-- transaction commits, so each entry is copied exactly once.
create trigger audit_log_passes_on after insert on audit_log for each row execute function pass_audit_entry_on();
-- The console service reads rows in the order of `created_at`. The existing entries get times in
-- 1970, so they are read before all newer entries, in the order of their ids.
insert into audit_outbox (id, entry, created_at)
select coalesce(event_id, gen_random_uuid()), audit_event_of(audit_log), timestamptz 'epoch' + id * interval '1 microsecond'
from audit_log;

-- The `session_version` of the user when the console service last took the user over; null: not
-- yet. If the two versions differ, the console service reads the user again.
alter table users add column moved_version integer;
-- locks: there are few users, so sign-ins and new users wait only for a moment.
create index users_unmoved on users (id) where moved_version is distinct from session_version;
