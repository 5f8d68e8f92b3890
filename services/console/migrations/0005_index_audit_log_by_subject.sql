-- no transaction
create index concurrently if not exists audit_log_of_subject on audit_log (organization_id, subject_id, id desc);
