-- no transaction
-- The accounts of a partition: the owner reads their newest versions, whatever their number.
create index concurrently if not exists rule_sets_first_of_partition on rule_sets (partition) where version = 1;
