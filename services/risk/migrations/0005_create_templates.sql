-- The risk templates of servers. A deleted template keeps its row, so there is one row for each
-- name that was ever used.
create table templates (
  server_id uuid not null,
  name text not null,
  version integer not null check (version >= 1),
  -- The first version since the template was last created. Rules that came from earlier versions
  -- belong to a deleted template of this name, and do not follow this template.
  first_version integer not null,
  -- deleted: the template was deleted, and the accounts keep their rules. removed: the template was
  -- deleted together with the rules of its accounts.
  state text not null check (state in ('active', 'deleted', 'removed')),
  organization_id uuid not null,
  rules json not null,
  applies_to json not null,
  new_accounts boolean not null,
  -- The command that set this version or deleted the template.
  command_id uuid not null,
  -- If several templates match an account, the template that was created first applies.
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The partition of the server id in trading.valuations. The process that owns this partition
  -- searches for the accounts of the template.
  partition integer not null,
  -- Progress of the search for the accounts of the template. First it finds the accounts whose
  -- rules came from the template (from_template_after), then the accounts that the template selects
  -- (selected_after). Each column has the number of the last account found. Empty: none was found
  -- yet. Null: all were found.
  from_template_after text,
  selected_after text,
  primary key (server_id, name)
);

-- Finds the templates whose accounts are still searched for.
create index templates_applying on templates (partition)
  where from_template_after is not null or selected_after is not null;

-- Waiting accounts: accounts that are to be compared with the templates of their server.
create table template_accounts (
  server_id uuid not null,
  account_number text not null,
  -- The template that is being applied. Empty: the account waits because it was created or changed,
  -- or because a command gave it the rules of a template.
  template_name text not null,
  -- The partition of the account in trading.valuations. The process that owns this partition
  -- compares the account.
  partition integer not null,
  -- Rises when the account is added again while it waits. A comparison deletes the row only if the
  -- revision is still the one that it has read.
  revision bigint not null default 1,
  -- Number of failed attempts to compare the account.
  attempts integer not null default 0,
  -- The account is not compared before this time.
  due_at timestamptz not null default clock_timestamp(),
  primary key (server_id, account_number, template_name)
)
with (autovacuum_vacuum_scale_factor = 0.05);

-- Finds the due accounts of a server. Created and changed accounts come before the accounts of a
-- template that is being applied.
create index template_accounts_due on template_accounts (server_id, (template_name <> ''), due_at);
-- Finds and counts the waiting and the failed accounts of a template.
create index template_accounts_of_template on template_accounts (server_id, template_name, attempts);

-- The template, and its version, that the rules came from. Null: a command set or removed the rules
-- on the account.
alter table rule_sets add column template_name text;
alter table rule_sets add column template_version integer;
-- The command on the template that caused this version of the rules; command_id is then derived
-- from it. Null: a command on the account caused this version.
alter table rule_sets add column template_command_id uuid;
