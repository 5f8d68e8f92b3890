/** What an alert causes: its row, the command of its action, and its event. */
import { createHash } from "node:crypto";

import type { WorkTransaction } from "@kapi/commands";
import { type CommandHeader, accountKey, RISK_ACTOR, type RiskEvent, TOPICS } from "@kapi/contracts";
import { amountFromMinor, toIso, uuidV5 } from "@kapi/kernel";

import type { AccountValues, Alert } from "../domain/evaluation.ts";
import type { EvaluationStore, RecordedAlert, RuleVersion } from "../domain/ports.ts";

/**
 * How long kapi tries to carry an action out. Longer than the deadline of a caller's command: a
 * trading server that is down for an hour must not leave a breached account open.
 */
const ACTION_DEADLINE_MS = 24 * 3_600_000;

/** The id of an alert: equal for every process that finds it, in every pass over the log. */
function alertIdOf(serverId: string, accountNumber: string, { kind, rule, period }: RecordedAlert["alert"]): string {
  return uuidV5(serverId, `${accountNumber}/${rule.id}/${rule.since}/${period}/${kind}`);
}

/** The id of the command with which kapi acts on a breach; null for `notify` and for a warning. */
function actionCommandIdOf(alertId: string, { kind, rule }: RecordedAlert["alert"]): string | null {
  return kind === "breached" && rule.action !== "notify" ? uuidV5(alertId, "action") : null;
}

/** An alert of a version of rules, with the values that made it. */
export function recordedAlert(version: RuleVersion, alert: Alert, values: AccountValues): RecordedAlert {
  const { serverId, accountNumber, organizationId, accountId } = version;
  const id = alertIdOf(serverId, accountNumber, alert);
  const rule = version.rules.find((stored) => stored.rule.id === alert.rule.id);
  if (rule === undefined) throw new TypeError(`rule ${alert.rule.id} is not in version ${version.version}`);
  return {
    id,
    serverId,
    accountNumber,
    organizationId,
    accountId,
    alert,
    rule: rule.rule,
    ruleVersion: version.version,
    values,
    commandId: actionCommandIdOf(id, alert),
    partition: version.partition,
    currency: version.currency,
    ruleActiveFromMs: version.seed.measuredAtMs,
    ruleActiveFromOffset: values.valuation === undefined ? null : version.activeFromOffset,
  };
}

/**
 * Records alerts in a transaction, once each: the row, the command of the action and the event
 * are committed together.
 */
export async function recordAlerts(
  store: Pick<EvaluationStore, "record">,
  transaction: WorkTransaction,
  alerts: readonly RecordedAlert[],
  nowMs: number,
): Promise<void> {
  if (alerts.length === 0) return;
  const fresh = await store.record(transaction, alerts, toIso(nowMs));
  for (const found of alerts) {
    if (!fresh.has(found.id)) continue;
    const key = accountKey(found.serverId, found.accountNumber);
    const command = actionCommandOf(found, nowMs);
    if (command !== null) {
      transaction.enqueue([{ topic: TOPICS.commandsAccount, key, value: JSON.stringify(command) }]);
    }
    transaction.enqueue([{ topic: TOPICS.riskEvents, key, value: JSON.stringify(eventOf(found, nowMs)) }]);
  }
}

/** The message of the command with which kapi acts on a breach. Nobody is charged for it. */
function actionCommandOf(found: RecordedAlert, nowMs: number): (CommandHeader & { payload: object }) | null {
  if (found.commandId === null) return null;
  const { id, organizationId, serverId, accountNumber, accountId, commandId, rule } = found;
  const operation = rule.action === "close_only" ? "account.close_only" : "account.disable";
  return {
    commandId,
    organizationId,
    serverId,
    accountNumber,
    managedAccountId: accountId,
    operation,
    requestId: id,
    idempotencyKey: `risk/${id}`,
    fingerprint: createHash("sha256").update(`${operation} ${id}`).digest("hex"),
    sealedPassword: null,
    derivationKeyId: null,
    reservedCredits: 0,
    createdAt: toIso(nowMs),
    deadlineAt: toIso(nowMs + ACTION_DEADLINE_MS),
    createdBy: RISK_ACTOR,
    payload: rule.action === "flatten_and_disable" ? { flatten: true } : {},
  };
}

function eventOf(found: RecordedAlert, nowMs: number): RiskEvent {
  const { id, organizationId, serverId, accountNumber, alert, rule, ruleVersion, values, commandId } = found;
  return {
    eventId: id,
    organizationId,
    serverId,
    accountNumber,
    occurredAt: toIso(nowMs),
    type: alert.kind === "breached" ? "risk.breached" : "risk.warning",
    alert: {
      id,
      rule,
      ruleVersion,
      period: alert.period,
      reference: amountFromMinor(alert.referenceMinor),
      threshold: amountFromMinor(alert.thresholdMinor),
      value: amountFromMinor(alert.valueMinor),
      equity: amountFromMinor(values.equityMinor),
      balance: amountFromMinor(values.balanceMinor),
      measuredAt: toIso(values.measuredAtMs),
      action: rule.action,
      commandId,
    },
  };
}
