-- People and the audit log belong to the console service, which has them in a schema of its own. `users` and
-- `audit_log` stay for processes of earlier builds, which still write them; nothing else reads them.

-- Entries for the audit log, each written in the transaction of its change. A row is gone once the
-- console service has it in the log.
create table audit_outbox (
  id uuid primary key,
  entry json not null,
  created_at timestamptz not null default now()
);

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
create function pass_audit_entry_on() returns trigger language plpgsql as $$
begin
  insert into audit_outbox (id, entry) values (coalesce(new.event_id, gen_random_uuid()), audit_event_of(new))
  on conflict (id) do nothing;
  return null;
end
$$;
-- The trigger is first: from then on nobody adds an entry until this is committed.
create trigger audit_log_passes_on after insert on audit_log for each row execute function pass_audit_entry_on();
-- Before everything newer, in the order of the log.
insert into audit_outbox (id, entry, created_at)
select coalesce(event_id, gen_random_uuid()), audit_event_of(audit_log), timestamptz 'epoch' + id * interval '1 microsecond'
from audit_log;

-- The session_version as of which the console service has the user; null: it does not have them.
alter table users add column moved_version integer;
-- locks: users are few, and nobody signs in or is made for that moment.
create index users_unmoved on users (id) where moved_version is distinct from session_version;
