-- no transaction
-- Finds the purchases of an organization. The trigger of 0015 copies them to the table `purchases`.
create index concurrently if not exists credit_legs_purchases on credit_legs (organization_id) where leg = 'purchase';
