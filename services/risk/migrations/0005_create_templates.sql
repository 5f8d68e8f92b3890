-- The risk templates of servers: one row for each name that was ever used.
create table templates (
  server_id uuid not null,
  name text not null,
  version integer not null check (version >= 1),
  -- The first version since the template was last created: versions before a deletion have no tie to it.
  first_version integer not null,
  -- deleted: the accounts keep their rules; removed: the rules of the accounts are removed too.
  state text not null check (state in ('active', 'deleted', 'removed')),
  organization_id uuid not null,
  rules json not null,
  applies_to json not null,
  new_accounts boolean not null,
  command_id uuid not null,
  -- The order of precedence.
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The partition of trading.valuations whose owner looks for the accounts of the template.
  partition integer not null,
  -- How far the accounts were looked for: first those whose rules came from the template, then those
  -- that it selects. The number of the last account; null: all were found.
  from_template_after text,
  selected_after text,
  primary key (server_id, name)
);

create index templates_applying on templates (partition)
  where from_template_after is not null or selected_after is not null;

-- Accounts whose rules are to be compared with the templates of their server.
create table template_accounts (
  server_id uuid not null,
  account_number text not null,
  -- The template that is being applied; empty: the account was created or changed.
  template_name text not null,
  -- The partition of the account in trading.valuations: its owner compares the account.
  partition integer not null,
  -- Rises when the account has to be compared again.
  revision bigint not null default 1,
  -- Failed attempts.
  attempts integer not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  primary key (server_id, account_number, template_name)
)
with (autovacuum_vacuum_scale_factor = 0.05);

-- Changed accounts come before accounts of a template that is being applied.
create index template_accounts_due on template_accounts (server_id, (template_name <> ''), due_at);
create index template_accounts_of_template on template_accounts (server_id, template_name, attempts);

-- The template that a version of rules came from; null: the rules were set on the account.
alter table rule_sets add column template_name text;
alter table rule_sets add column template_version integer;
-- The command on the template, for a version that no command on the account asked for.
alter table rule_sets add column template_command_id uuid;
