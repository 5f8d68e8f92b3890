/**
 * Compares the alerts of the risk service with an oracle that looks at the whole log of valuations
 * again. Then compares the commands and events of the service with its alerts. The alerts and the
 * versions of rules are read from the tables of the service. Only these tables have the offset from
 * which a version of rules was active.
 */
import {
  accountKey,
  CommandMessage,
  RiskEvent,
  type RiskRule,
  type TopicContract,
  TOPICS,
  Valuation,
} from "@kapi/contracts";
import { type KafkaConnection, startLogReader } from "@kapi/kafka";
import { type Database, statement } from "@kapi/postgres";
import type { Logger } from "@kapi/runtime";

import type { AccountValues } from "../../services/risk/src/domain/evaluation.ts";
import { alertsByWholePast, type Step } from "../../services/risk/test/whole-past.ts";

const MAX_EXAMPLES = 5;
/** The types of the events in `risk.events` that announce an alert. */
const ALERT_EVENTS: ReadonlySet<string> = new Set(["risk.breached", "risk.warning"]);

interface VersionRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly initial_balance_minor: number;
  readonly rules: readonly { readonly rule: RiskRule }[];
  readonly seed: AccountValues;
  readonly log_offset: number | null;
}
const VERSIONS = statement<VersionRow>(
  "test-risk-versions",
  `select server_id, account_number, initial_balance_minor::float8 as initial_balance_minor, rules, seed,
     active_from_offset::float8 as log_offset
   from rule_sets order by server_id, account_number, version`,
);

interface AlertRow {
  readonly id: string;
  readonly server_id: string;
  readonly account_number: string;
  readonly rule_id: string;
  readonly rule_since: number;
  readonly period: string;
  readonly kind: string;
  readonly rule: RiskRule;
  readonly log_offset: number | null;
  readonly command_id: string | null;
}
const ALERTS = statement<AlertRow>(
  "test-risk-alerts",
  `select id, server_id, account_number, rule_id, rule_since, period, kind, rule,
     valuation_offset::float8 as log_offset, command_id
   from alerts`,
);

/** Connections to the topics (`kafka`) and to the schema (`database`) of the risk service. */
export interface RiskService {
  readonly kafka: KafkaConnection;
  readonly database: Database;
  readonly logger: Logger;
}

/** Counts of the compared records, and the differences. One difference may name several records. */
export interface Comparison {
  readonly valuations: number;
  readonly versions: number;
  readonly breaches: number;
  readonly warnings: number;
  readonly actions: number;
  /** Messages that repeat a command or an event. Readers drop them. */
  readonly repeats: number;
  readonly differences: readonly string[];
}

/**
 * Compares all alerts, commands and events, and returns the differences. The caller first waits
 * until the service has compared every valuation, and sends no further valuations.
 */
export async function compareWithPast(service: RiskService): Promise<Comparison> {
  const versions = await service.database.query(VERSIONS, []);
  const alerts = await service.database.query(ALERTS, []);
  const byAccount = Map.groupBy(versions, (row) => accountKey(row.server_id, row.account_number));
  const log = await valuationsOf(service, byAccount);
  const differences: string[] = [];
  const expected: string[] = [];
  let valuations = 0;
  for (const [key, own] of byAccount) {
    const positions = own.map(({ log_offset: offset }) => offset ?? -1);
    if (positions.includes(-1)) differences.push(`rules of ${key} are not active`);
    if (positions.some((position, index) => position < (positions[index - 1] ?? 0))) {
      differences.push(
        `versions of the rules of ${key} are active from offsets in the wrong order: ${positions.join(", ")}`,
      );
    }
    const { steps, count } = stepsOf(own, log.get(key) ?? []);
    valuations += count;
    const initialBalanceMinor = own[0]?.initial_balance_minor ?? 0;
    for (const { ruleId, since, period, kind, valuesAt } of alertsByWholePast(steps, { initialBalanceMinor })) {
      expected.push(`${kind} ${key} ${ruleId} (version ${since}) ${period} at ${valuesAt}`);
    }
  }
  const found = alerts.map((row) => {
    const key = accountKey(row.server_id, row.account_number);
    return `${row.kind} ${key} ${row.rule_id} (version ${row.rule_since}) ${row.period} at ${row.log_offset ?? "rules"}`;
  });
  const breaches = alerts.filter(({ kind }) => kind === "breached");
  differences.push(...compare("alerts", expected, found), ...wrongActions(breaches));
  const commands = await sentBy(service, TOPICS.commandsAccount, (json) => {
    const { commandId, createdBy } = CommandMessage.parse(json);
    return createdBy?.type === "system" && createdBy.id === "risk" ? commandId : null;
  });
  const events = await sentBy(service, TOPICS.riskEvents, (json) => {
    const { eventId, type } = RiskEvent.parse(json);
    return ALERT_EVENTS.has(type) ? eventId : null;
  });
  const wanted = breaches.flatMap(({ command_id: id }) => (id === null ? [] : [id]));
  differences.push(...compare("commands of actions", wanted, [...new Set(commands)]));
  const ids = alerts.map(({ id }) => id);
  differences.push(...compare("events", ids, [...new Set(events)]));
  return {
    valuations,
    versions: versions.length,
    breaches: breaches.length,
    warnings: alerts.length - breaches.length,
    actions: wanted.length,
    repeats: commands.length - new Set(commands).size + events.length - new Set(events).size,
    differences,
  };
}

interface Recorded {
  readonly offset: number;
  readonly values: AccountValues;
}

/** The valuations of accounts with rules, by account, in the order of the log. */
async function valuationsOf(
  service: RiskService,
  accounts: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, readonly Recorded[]>> {
  const log = new Map<string, Recorded[]>();
  await readAll(service, TOPICS.tradingValuations, (offset, json) => {
    const { serverId, accountNumber, measuredAt, equityMinor, balanceMinor, netDepositsMinor } = Valuation.parse(json);
    const key = accountKey(serverId, accountNumber);
    if (!accounts.has(key)) return;
    const measuredAtMs = Date.parse(measuredAt);
    const values = { measuredAtMs, equityMinor, balanceMinor, netDepositsMinor: netDepositsMinor ?? null };
    const own = log.get(key) ?? [];
    own.push({ offset, values });
    log.set(key, own);
  });
  return log;
}

/**
 * Versions and valuations in the order in which the service processes them, without the valuations
 * before the first version. `count` is the number of the returned valuations.
 */
function stepsOf(
  versions: readonly VersionRow[],
  log: readonly Recorded[],
): { readonly steps: readonly Step[]; readonly count: number } {
  const steps: Step[] = [];
  const waiting = versions.filter(({ log_offset: offset }) => offset !== null);
  let count = 0;
  const switchUpTo = (offset: number): void => {
    for (let next = waiting[0]; next !== undefined && (next.log_offset ?? 0) <= offset; next = waiting[0]) {
      steps.push({ rules: next.rules.map(({ rule }) => rule), seed: next.seed });
      waiting.shift();
    }
  };
  for (const { offset, values } of log) {
    switchUpTo(offset);
    if (steps.length === 0) continue;
    steps.push({ at: String(offset), values });
    count += 1;
  }
  switchUpTo(Number.POSITIVE_INFINITY);
  return { steps, count };
}

/** Describes breaches that lack the command of their action, or have a command for `notify`. */
function wrongActions(breaches: readonly AlertRow[]): string[] {
  return breaches
    .filter(({ rule, command_id: id }) => (rule.action === "notify") !== (id === null))
    .map(({ id, rule, command_id: command }) => `breach ${id}: action ${rule.action}, command ${command ?? "none"}`);
}

/** The ids that `idOf` returns for the messages of a topic, with repeats, without null. */
async function sentBy(
  service: RiskService,
  topic: TopicContract,
  idOf: (json: unknown) => string | null,
): Promise<string[]> {
  const ids: string[] = [];
  await readAll(service, topic, (_offset, json) => {
    const id = idOf(json);
    if (id !== null) ids.push(id);
  });
  return ids;
}

async function readAll(
  { kafka, logger }: RiskService,
  topic: TopicContract,
  onRecord: (offset: number, json: unknown) => void,
): Promise<void> {
  let failure: Error | null = null;
  const reader = await startLogReader(kafka, {
    topic,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const { offset, value } of messages) onRecord(Number(offset), JSON.parse(value.toString("utf8")));
    },
    logger,
    fatal: (error) => {
      failure = error;
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  if (failure !== null) throw failure;
}

/** The missing, extra and repeated entries, in words. */
function compare(what: string, expected: readonly string[], found: readonly string[]): string[] {
  const [wanted, had] = [new Set(expected), new Set(found)];
  const groups = [
    ["missing", [...wanted].filter((one) => !had.has(one))],
    ["extra", [...had].filter((one) => !wanted.has(one))],
    ["double", found.filter((one, index) => found.indexOf(one) !== index)],
  ] as const;
  return groups
    .filter(([, all]) => all.length > 0)
    .map(([kind, all]) => `${all.length} ${kind} ${what}, such as ${all.slice(0, MAX_EXAMPLES).join("; ")}`);
}
