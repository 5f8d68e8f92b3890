-- no transaction
-- Reads the wallets of a shard in parts, in the order of their organizations.
create index concurrently if not exists wallets_of_tag on wallets (tag, organization_id);
