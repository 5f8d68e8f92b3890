-- no transaction
-- Finds the accounts whose rules came from a template, and counts the accounts with rules of one
-- version of the template.
create index concurrently if not exists rule_sets_of_template on rule_sets
  (server_id, template_name, account_number, template_version) where template_name is not null;
