-- no transaction
create index concurrently if not exists audit_log_of_actor on audit_log (organization_id, actor_id, id desc);
