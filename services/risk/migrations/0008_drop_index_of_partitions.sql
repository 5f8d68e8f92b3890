-- no transaction
-- contract: 0.1.0 has no risk service; rule_sets_first_of_partition replaces this index
drop index concurrently if exists rule_sets_by_partition;
