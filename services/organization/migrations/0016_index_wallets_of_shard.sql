-- no transaction
-- For reading the wallets of shards page by page, ordered by shard and organization.
create index concurrently if not exists wallets_of_tag on wallets (tag, organization_id);
