import { appearing, level, rising } from "../phases.ts";
import { type AlertCase, FIRST, kapi } from "./case.ts";

const SERVER = "018f3c8e-1b6c-7c5a-9d2e-0a1b2c3d4e5f";

/**
 * Commands that do not become final, trading servers that do not answer, messages that are not
 * published, missing events, and deletions that do not announce the last events of the account.
 */
export const COMMANDS: readonly AlertCase[] = [
  {
    alert: "KapiCommandsWait",
    when: "the oldest open command is 90 s old",
    series: { [kapi("command_status_commands_age", { status: "queued" })]: level(0, 90) },
    labels: {},
    severity: "critical",
    summary: "Commands are not final more than a minute after their acceptance",
  },
  {
    alert: "KapiCommandsStuck",
    when: "a deposit is open two minutes after its deadline",
    series: {
      [kapi("commands_inbox_overdue", { ...FIRST, worker: "finance" })]: level(0, 120),
      // The alert must ignore this command: it is two hours old, but its deadline is not over.
      [kapi("commands_inbox_age", { ...FIRST, job: "account", worker: "account" })]: level(0, 7_200),
      [kapi("commands_inbox_overdue", { ...FIRST, job: "account", worker: "account" })]: level(0, 0),
    },
    labels: { worker: "finance" },
    severity: "critical",
    summary: "Commands of finance are past their deadline and cannot be settled",
  },
  {
    alert: "KapiCommandsExpire",
    when: "commands expire for the first time",
    series: {
      [kapi("commands_duration_count", { ...FIRST, operation: "finance.deposit", status: "expired" })]: rising(0, 0.1),
    },
    labels: { operation: "finance.deposit" },
    severity: "warning",
    summary: "Commands finance.deposit expired and were not carried out",
  },
  {
    alert: "KapiTradingServerAway",
    when: "the breaker of a trading server is open",
    series: { [kapi("trading_server_breaker_open", { worker: "finance", server: SERVER })]: level(0, 1) },
    labels: { server: SERVER },
    severity: "warning",
    summary: `Trading server ${SERVER} does not answer`,
  },
  {
    alert: "KapiOutboxStuck",
    when: "events of finance wait for Kafka",
    series: { [kapi("commands_outbox_age", { ...FIRST, worker: "finance" })]: level(0, 45) },
    labels: { job: "finance" },
    severity: "critical",
    summary: "Committed messages of finance are not published",
  },
  {
    alert: "KapiOutboxStuck",
    when: "changes of keys wait for Kafka",
    series: { [kapi("organization_outbox_age", { job: "organization" })]: level(0, 45) },
    labels: { job: "organization" },
    severity: "critical",
    summary: "Committed messages of organization are not published",
  },
  {
    alert: "KapiEventGaps",
    when: "two accounts miss an event",
    series: { [kapi("trading_events_gaps", FIRST)]: level(0, 2) },
    labels: { job: "finance" },
    severity: "critical",
    summary: "Accounts in finance wait for missing events",
  },
  {
    alert: "KapiDeletionUnannounced",
    when: "for the first time, an account is deleted and its last events are not announced",
    series: { [kapi("account_deletions_unannounced_total", { ...FIRST, job: "account" })]: appearing(1) },
    labels: {},
    severity: "warning",
    summary: "An account was deleted without announcing its last events",
  },
];
