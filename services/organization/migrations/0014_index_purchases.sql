-- no transaction
-- Finds the purchases of an organization, which 0015 copies to a table of their own.
create index concurrently if not exists credit_legs_purchases on credit_legs (organization_id) where leg = 'purchase';
