/**
 * The competitor of `bench -- accept` and `bench -- curve`. BullMQ does the ledger work of a
 * deposit behind a Fastify route, in two processes, like gateway and worker in kapi.
 * `node bullmq-peer.ts route` prints its address as JSON. `node bullmq-peer.ts worker` writes one
 * double-entry deposit per job to PostgreSQL, in one statement.
 */
import { Queue, Worker } from "bullmq";
import { fastify } from "fastify";
import pg from "pg";

const QUEUE = "deposits";
const WORKER_CONCURRENCY = 64;
const POOL_SIZE = 32;

const redis = new URL(process.env["REDIS_URL"] ?? "");
const connection = { host: redis.hostname, port: Number(redis.port), maxRetriesPerRequest: null };

interface Deposit {
  readonly accountNumber: string;
  readonly amountMinor: number;
  readonly commandId: string;
}

const SCHEMA = `
create schema if not exists peer;
create table if not exists peer.accounts (account_number text primary key, balance_minor bigint not null, sequence bigint not null);
create table if not exists peer.transactions (command_id text primary key, account_number text not null, sequence bigint not null,
  amount_minor bigint not null, balance_before bigint not null, balance_after bigint not null, recorded_at timestamptz not null default now(),
  unique (account_number, sequence));
create table if not exists peer.entries (command_id text not null, ledger text not null, amount_minor bigint not null, primary key (command_id, ledger));`;

/** Balance, transaction and both entries of a deposit. Parameters: command, account, amount. */
const BOOK = `
  with account as (
    insert into peer.accounts values ($2, $3, 1) on conflict (account_number) do update
    set balance_minor = peer.accounts.balance_minor + $3, sequence = peer.accounts.sequence + 1
    returning balance_minor, sequence),
  entries as (insert into peer.entries values ($1, 'account', $3), ($1, 'deposits', -$3::bigint)),
  transactions as (
    insert into peer.transactions (command_id, account_number, sequence, amount_minor, balance_before, balance_after)
    select $1, $2, sequence, $3, balance_minor - $3, balance_minor from account)
  select balance_minor from account`;

async function book(pool: pg.Pool, { commandId, accountNumber, amountMinor }: Deposit): Promise<number> {
  const values = [commandId, accountNumber, amountMinor];
  const { rows } = await pool.query<{ balance_minor: string }>({ name: "book", text: BOOK, values });
  return Number(rows[0]?.balance_minor);
}

async function work(): Promise<void> {
  const pool = new pg.Pool({ connectionString: process.env["POSTGRES_URL"] ?? "", max: POOL_SIZE });
  await pool.query(SCHEMA);
  const worker = new Worker<Deposit, number>(QUEUE, (job) => book(pool, job.data), {
    connection,
    concurrency: WORKER_CONCURRENCY,
  });
  await worker.waitUntilReady();
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
}

async function route(): Promise<void> {
  const queue = new Queue<Deposit, number>(QUEUE, {
    connection,
    defaultJobOptions: { removeOnComplete: 1000, attempts: 5, backoff: { type: "exponential", delay: 1000 } },
  });
  const app = fastify();
  app.post<{ Body: Deposit }>("/deposits", async (request, reply) => {
    const job = await queue.add("deposit", request.body, { jobId: request.body.commandId });
    return reply.code(202).send({ id: job.id });
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  process.stdout.write(`${JSON.stringify({ url })}\n`);
}

await (process.argv[2] === "worker" ? work() : route());
