-- no transaction
create index concurrently if not exists account_statuses_without_description on account_statuses (server_id)
  where created_at is null;
