/** Stores the owners of partitions, the states of accounts, and alerts, in PostgreSQL. */
import { column, jsonLines, type WorkTransaction } from "@kapi/commands";
import { type Database, type Queryable, type Statement, statement } from "@kapi/postgres";
import { toIso } from "@kapi/kernel";

import {
  type EvaluationStore,
  NotOwner,
  type PartitionOwner,
  type RecordedAlert,
  type StateText,
  type StoredState,
} from "../../domain/ports.ts";
import { EVIDENCE_WINDOW_MS } from "../../domain/evidence.ts";
import { RULE_VERSION_COLUMNS, type RuleVersionRow, versionFromRow } from "./rule-version-row.ts";

/** Time after the window of evidence until its last valuations and samples are in the log. */
const SETTLED_AFTER_MS = 15_000;
/**
 * Evidence is due at most this long after its breach is recorded, even if the time of the breaching
 * valuation is in the future.
 */
const MAX_EVIDENCE_DELAY_MS = 300_000;
/** Maximum number of states in one statement. */
const MAX_STATES = 2_000;

const TOKENS = statement<{ number: number; token: number }>(
  "risk-partition-tokens",
  `select number, token::float8 as token from partitions`,
);
// $1 partition, $2 topic id, $3 generation, $4 the partition's token before this process joined the
// group, or null. A recreated topic is read from its beginning. Returns no row if a member of a
// later generation has acquired the partition since the join: the token is no longer $4.
const ACQUIRE = statement<{ token: number; next_offset: number; is_new_topic: boolean }>(
  "risk-acquire-partition",
  `with former as (select topic_id from partitions where number = $1)
   insert into partitions as p (number, topic_id, next_offset, token, generation) values ($1, $2, 0, 1, $3)
   on conflict (number) do update set
     token = p.token + 1,
     generation = excluded.generation,
     next_offset = case when p.topic_id = excluded.topic_id then p.next_offset else 0 end,
     topic_id = excluded.topic_id
   where p.generation <= excluded.generation or p.token = $4
   returning token::float8 as token, next_offset::float8 as next_offset,
     coalesce((select topic_id from former) <> $2, false) as is_new_topic`,
);
// $1 partition. After the topic was recreated, offsets of the former topic mean nothing: active
// versions apply from offset 0, states no longer name the valuation of their values, and breaches
// whose evidence is not collected yet keep only the partition of their valuation.
const FORGET_OFFSETS: readonly Statement<never>[] = [
  statement(
    "risk-forget-version-offsets",
    `update rule_sets set active_from_offset = 0 where partition = $1 and active_from_offset > 0`,
  ),
  statement(
    "risk-forget-state-offsets",
    `update account_states set state = (state::jsonb #- '{last,valuation}')::json
     where partition = $1 and state::jsonb #> '{last,valuation}' is not null`,
  ),
  statement(
    "risk-forget-breach-offsets",
    `update alerts set valuation_offset = null, rule_active_from_offset = null
     where partition = $1 and evidence_due_at is not null and valuation_offset is not null`,
  ),
];
// $1 partition. A checkpoint can store the first state of an account while the rules of the account
// are being deleted.
const DELETE_STATES_WITHOUT_RULES = statement<never>(
  "risk-delete-states-without-rules",
  `delete from account_states s where s.partition = $1 and not exists (
     select from rule_sets r where r.server_id = s.server_id and r.account_number = s.account_number
   )`,
);
const STATES = statement<{ server_id: string; account_number: string; version: number; state: StoredState["state"] }>(
  "risk-states-of-partition",
  `select server_id, account_number, version, state from account_states where partition = $1`,
);
const VERSIONS = statement<RuleVersionRow>(
  "risk-versions-of-partition",
  `select ${RULE_VERSION_COLUMNS} from rule_sets r
   left join account_states s on s.server_id = r.server_id and s.account_number = r.account_number
   where r.partition = $1 and r.active_from_offset is not null and r.version >= coalesce(s.version, 0)
   order by r.server_id, r.account_number, r.version`,
);
// $1 partitions, $2 limit of one partition.
const WAITING = statement<RuleVersionRow>(
  "risk-waiting-versions",
  `select oldest.* from unnest($1::integer[]) as p(number)
   cross join lateral (
     select ${RULE_VERSION_COLUMNS} from rule_sets r
     where r.partition = p.number and r.active_from_offset is null
     order by r.created_at, r.version limit $2
   ) as oldest`,
);
const LOCK_OWNED = statement<{ number: number }>(
  "risk-lock-owned",
  `select number from partitions where number = $1 and token = $2 for no key update`,
);
const STORE_POSITION = statement<{ number: number }>(
  "risk-store-position",
  `update partitions set next_offset = $3 where number = $1 and token = $2 and next_offset <= $3 returning number`,
);
// $1 partition, then server ids, numbers, versions, states, and distances from limits.
const STORE_STATES = statement<never>(
  "risk-store-states",
  `insert into account_states (partition, server_id, account_number, version, state, daily_left, daily_until, loss_left)
   select $1, u.server_id, u.account_number, u.version, u.state::json, u.daily_left, u.daily_until, u.loss_left
   from unnest($2::uuid[], $3::text[], $4::integer[], string_to_array($5, E'\\n', ''), $6::float8[],
       $7::timestamptz[], $8::float8[])
     as u(server_id, account_number, version, state, daily_left, daily_until, loss_left)
   -- A deleted account has no rules any more, so its state is not stored.
   where exists (
     select from rule_sets r where r.server_id = u.server_id and r.account_number = u.account_number
   )
   on conflict (server_id, account_number) do update set version = excluded.version, state = excluded.state,
     daily_left = excluded.daily_left, daily_until = excluded.daily_until, loss_left = excluded.loss_left`,
);
const RECORD = statement<{ id: string }>(
  "risk-record-alerts",
  `insert into alerts (id, kind, organization_id, server_id, account_number, rule_id, rule_since, period,
     rule_version, rule, reference_minor, threshold_minor, value_minor, equity_minor, balance_minor, measured_at,
     valuation_partition, valuation_offset, command_id, base_minor, reference_at, recorded_at, partition, currency,
     rule_active_from, rule_active_from_offset, evidence_due_at)
   select id, kind, organization_id, server_id, account_number, rule_id, rule_since, period,
     rule_version, rule::json, reference_minor, threshold_minor, value_minor, equity_minor, balance_minor, measured_at,
     valuation_partition, valuation_offset, command_id, base_minor, reference_at, $22, partition, currency,
     rule_active_from, rule_active_from_offset, evidence_due_at
   from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::integer[], $8::text[],
     $9::integer[], string_to_array($10, E'\\n', ''), $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
     $15::bigint[], $16::timestamptz[], $17::integer[], $18::bigint[], $19::uuid[], $20::bigint[],
     $21::timestamptz[], $23::integer[], $24::text[], $25::timestamptz[], $26::bigint[], $27::timestamptz[])
     as u(id, kind, organization_id, server_id, account_number, rule_id, rule_since, period, rule_version, rule,
       reference_minor, threshold_minor, value_minor, equity_minor, balance_minor, measured_at, valuation_partition,
       valuation_offset, command_id, base_minor, reference_at, partition, currency, rule_active_from,
       rule_active_from_offset, evidence_due_at)
   on conflict do nothing returning id`,
);
// A version is found by its command: after a version was discarded, another one gets its number.
// $1 command, $2 offset, $3 time.
const ACTIVATE = statement<{ version: number }>(
  "risk-activate-version",
  `update rule_sets set active_from_offset = $2, active_from = $3
   where command_id = $1 and active_from_offset is null returning version`,
);
const IS_ACTIVE = statement<{ version: number }>(
  "risk-is-version-active",
  `select version from rule_sets where command_id = $1 and active_from_offset is not null`,
);
const DISCARD = statement<never>(
  "risk-discard-version",
  `delete from rule_sets where command_id = $1 and active_from_offset is null`,
);

/** Creates the store; its methods are described in {@link EvaluationStore}. */
export function createEvaluationStore(database: Database): EvaluationStore {
  return {
    async tokens() {
      const rows = await database.query(TOKENS, []);
      return new Map(rows.map(({ number, token }) => [number, token]));
    },
    async acquire(partition, topicId, { generation, tokens }) {
      const owner = await database.transaction(async (transaction) => {
        const values = [partition, topicId, generation, tokens.get(partition) ?? null];
        const [acquired] = await transaction.query(ACQUIRE, values);
        if (acquired === undefined)
          throw new NotOwner(`a member of a later generation than ${generation} owns partition ${partition}`);
        if (acquired.is_new_topic) for (const forget of FORGET_OFFSETS) await transaction.query(forget, [partition]);
        return acquired;
      });
      await database.query(DELETE_STATES_WITHOUT_RULES, [partition]);
      const states = await database.query(STATES, [partition]);
      const versions = await database.query(VERSIONS, [partition]);
      return {
        token: owner.token,
        nextOffset: owner.next_offset,
        states: states.map(({ server_id: serverId, account_number: accountNumber, version, state }) => ({
          serverId,
          accountNumber,
          version,
          state,
        })),
        versions: versions.map(versionFromRow),
      };
    },
    async waiting(partitions, limit) {
      const rows = await database.query(WAITING, [column(partitions), limit]);
      return rows.map(versionFromRow);
    },
    checkpoint: (owner, nextOffset, states) =>
      database.transaction(async (transaction) => {
        for (let at = 0; at < states.length; at += MAX_STATES) {
          await storeStates(transaction, owner.partition, states.slice(at, at + MAX_STATES));
        }
        // Last, because this statement locks the partition. A breach that is found while the states
        // are stored does not wait for the lock.
        const moved = await transaction.query(STORE_POSITION, [owner.partition, owner.token, nextOffset]);
        if (moved.length === 0) throw notOwner(owner);
      }),
    async lockOwned(transaction, owner) {
      const locked = await transaction.query(LOCK_OWNED, [owner.partition, owner.token]);
      if (locked.length === 0) throw notOwner(owner);
    },
    record,
    async activate(transaction, { commandId }, offset, at) {
      return (await transaction.query(ACTIVATE, [commandId, offset, at])).length > 0;
    },
    async isActive(transaction, { commandId }) {
      return (await transaction.query(IS_ACTIVE, [commandId])).length > 0;
    },
    async discard(transaction, { commandId }) {
      await transaction.query(DISCARD, [commandId]);
    },
  };
}

async function storeStates(transaction: Queryable, partition: number, states: readonly StateText[]): Promise<void> {
  await transaction.query(STORE_STATES, [
    partition,
    column(states.map(({ serverId }) => serverId)),
    column(states.map(({ accountNumber }) => accountNumber)),
    column(states.map(({ version }) => version)),
    jsonLines(states.map(({ state }) => state)),
    column(states.map(({ dailyLeft }) => dailyLeft)),
    column(states.map(({ dailyUntil }) => dailyUntil)),
    column(states.map(({ lossLeft }) => lossLeft)),
  ]);
}

async function record(
  transaction: WorkTransaction,
  alerts: readonly RecordedAlert[],
  at: string,
): Promise<ReadonlySet<string>> {
  const numbers = (valueOf: (one: RecordedAlert) => number | null): string => column(alerts.map(valueOf));
  const texts = (valueOf: (one: RecordedAlert) => string | null): string => column(alerts.map(valueOf));
  const rows = await transaction.query(RECORD, [
    texts(({ id }) => id),
    texts(({ alert }) => alert.kind),
    texts(({ organizationId }) => organizationId),
    texts(({ serverId }) => serverId),
    texts(({ accountNumber }) => accountNumber),
    texts(({ rule }) => rule.id),
    numbers(({ alert }) => alert.rule.since),
    texts(({ alert }) => alert.period),
    numbers(({ ruleVersion }) => ruleVersion),
    jsonLines(alerts.map(({ rule }) => JSON.stringify(rule))),
    numbers(({ alert }) => alert.referenceMinor),
    numbers(({ alert }) => alert.thresholdMinor),
    numbers(({ alert }) => alert.valueMinor),
    numbers(({ values }) => values.equityMinor),
    numbers(({ values }) => values.balanceMinor),
    texts(({ values }) => toIso(values.measuredAtMs)),
    numbers(({ values }) => values.valuation?.partition ?? null),
    numbers(({ values }) => values.valuation?.offset ?? null),
    texts(({ commandId }) => commandId),
    numbers(({ alert }) => alert.baseMinor),
    texts(({ alert }) => (alert.referenceAtMs === null ? null : toIso(alert.referenceAtMs))),
    at,
    numbers(({ partition }) => partition),
    texts(({ currency }) => currency),
    texts(({ ruleActiveFromMs }) => toIso(ruleActiveFromMs)),
    numbers(({ ruleActiveFromOffset }) => ruleActiveFromOffset),
    texts((one) => evidenceDueAt(one, Date.parse(at))),
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** When the evidence of an alert can be collected; null: it gets none. */
function evidenceDueAt({ alert, currency, values }: RecordedAlert, nowMs: number): string | null {
  if (alert.kind !== "breached" || currency === null) return null;
  const dueMs = values.measuredAtMs + EVIDENCE_WINDOW_MS + SETTLED_AFTER_MS;
  return toIso(Math.min(Math.max(dueMs, nowMs), nowMs + MAX_EVIDENCE_DELAY_MS));
}

function notOwner({ partition, token }: PartitionOwner): NotOwner {
  return new NotOwner(`another process owns partition ${partition}: token ${token} is no longer valid`);
}
