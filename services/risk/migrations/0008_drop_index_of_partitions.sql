-- no transaction
-- contract: no release has this service yet. Replaced by rule_sets_first_of_partition.
drop index concurrently if exists rule_sets_by_partition;
