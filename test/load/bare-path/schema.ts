/**
 * Creates the topics and tables of the bare path (docs/testing.md). Each table has most of the keys
 * and indexes that a deposit changes in kapi's table.
 */
import { createTopics } from "@kapi/kafka";
import pg from "pg";

import { bareKafka, PARTITIONS } from "./bare-process.ts";

const SCHEMA = `
drop schema if exists bare cascade;
create schema bare;
create table bare.commands (command_id uuid primary key, organization_id uuid, server_id uuid, account_number text, request_id text,
  created_at timestamptz, operation text, status text, message text, event text);
create index on bare.commands (server_id, request_id, created_at desc, command_id desc);
create index on bare.commands (server_id, account_number, created_at desc, command_id desc);
create index on bare.commands (server_id, created_at desc, command_id desc) include (operation);
create table bare.inbox (command_id uuid primary key, partition integer, log_offset bigint, server_id uuid, status text, message text,
  result text, completed_at timestamptz);
create index on bare.inbox (partition, server_id, log_offset) where status = 'queued';
create table bare.ledger_accounts (server_id uuid, account_number text, balance_minor bigint, last_sequence bigint,
  primary key (server_id, account_number)) with (fillfactor = 50);
create table bare.transactions (id uuid primary key, server_id uuid, account_number text, sequence bigint, event_sequence bigint, type text,
  command_id uuid, amount_minor bigint, balance_before bigint, balance_after bigint, recorded_at timestamptz, entries text,
  unique (server_id, account_number, sequence), unique (server_id, account_number, event_sequence, type), unique (server_id, command_id));
create table bare.journal (position bigserial primary key, server_id uuid, account_number text, sequence bigint, reference text, event text,
  outcome text, unique (server_id, account_number, sequence), unique (server_id, reference));
create table bare.credit_entries (charge_id uuid, kind text, organization_id uuid, credits integer, epoch text, operation text, at timestamptz,
  command_id uuid, primary key (charge_id, kind));
create index on bare.credit_entries (organization_id, epoch);
create index on bare.credit_entries (organization_id, at desc, charge_id desc, kind desc) where kind = 'reserve';
create table bare.events (organization_id uuid, event_id uuid, position bigint, body text, primary key (organization_id, event_id));
create index on bare.events (organization_id, position);
create table bare.feeds (server_id uuid, account_number text, booked_sequence bigint, primary key (server_id, account_number))
  with (fillfactor = 50);`;

const { kafka } = bareKafka("schema");
await createTopics(kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1 });
const client = new pg.Client({ connectionString: process.env["POSTGRES_URL"] ?? "" });
await client.connect();
await client.query(SCHEMA);
await client.end();
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
