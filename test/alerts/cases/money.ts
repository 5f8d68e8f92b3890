import { appearing, level, rising } from "../phases.ts";
import { type AlertCase, FIRST, kapi } from "./case.ts";

/** Faults of the ledgers, daily digests, wallets, usage streams and the audit log. */
export const MONEY: readonly AlertCase[] = [
  {
    alert: "KapiLedgerDiscrepancy",
    when: "a process finds its first event whose balance differs from the ledger",
    series: { [kapi("finance_discrepancies_total", FIRST)]: appearing(1) },
    labels: {},
    severity: "critical",
    summary: "Ledger and trading server disagreed about a balance",
  },
  {
    alert: "KapiLedgerDiscrepancy",
    when: "a process finds more events whose balance differs from the ledger",
    series: { [kapi("finance_discrepancies_total", FIRST)]: rising(0, 0.01) },
    labels: {},
    severity: "critical",
    summary: "Ledger and trading server disagreed about a balance",
  },
  {
    alert: "KapiReconciliationDiffers",
    when: "a reconciliation finds an account that differs",
    series: {
      [kapi("finance_reconciliation_accounts", { ...FIRST, finding: "differs" })]: level(0, 1),
      [kapi("finance_reconciliation_accounts", { ...FIRST, finding: "unreachable" })]: level(5, 5),
    },
    labels: { finding: "differs" },
    severity: "critical",
    summary: "Reconciliation found accounts that differ from their trading server: differs",
  },
  {
    alert: "KapiDigestsLate",
    when: "the digests of a day are not made within half an hour",
    series: {
      [kapi("digests_days_waiting", { ...FIRST, service: "finance" })]: level(0, 1),
      [kapi("digests_days_waiting", { ...FIRST, job: "account", service: "account" })]: level(0, 0),
    },
    labels: { service: "finance" },
    severity: "warning",
    summary: "Daily digests of finance are late",
  },
  {
    alert: "KapiCreditDrift",
    when: "a wallet differs from the credit ledger",
    series: { [kapi("organization_wallets_in_drift")]: level(0, 1) },
    labels: {},
    severity: "critical",
    summary: "Wallets in Redis, their sums in PostgreSQL and the sums of their entries differ",
  },
  {
    alert: "KapiTagsClosed",
    when: "three wallet shards stay unsynced",
    series: { [kapi("organization_tags_closed")]: level(0, 3) },
    labels: {},
    severity: "critical",
    summary: "Billed requests of some organizations fail because their wallet shards are not synced",
  },
  {
    alert: "KapiWalletShardsUnreachable",
    when: "the Redis node of 20 wallet shards does not answer",
    series: { [kapi("organization_tags_unreachable")]: level(0, 20) },
    labels: {},
    severity: "critical",
    summary: "Requests of some organizations fail because the Redis node of their wallets does not answer",
  },
  {
    alert: "KapiUsageLate",
    when: "the oldest usage entry has waited in Redis for two minutes",
    series: { [kapi("organization_usage_age")]: level(1, 120) },
    labels: {},
    severity: "warning",
    summary: "Usage entries wait in Redis for longer than a minute",
  },
  {
    alert: "KapiUsageStreamFills",
    when: "the usage stream of a wallet shard has 400,000 entries",
    series: { [kapi("organization_usage_fullest_backlog")]: level(100, 400_000) },
    labels: {},
    severity: "critical",
    summary: "A usage stream in Redis is half full; when it is full, requests of its organizations fail",
  },
  {
    alert: "KapiAuditLate",
    when: "no audit entries of one service were fetched for ten minutes",
    series: {
      [kapi("organization_audit_age", { ...FIRST, source: "webhooks" })]: level(1, 600),
      [kapi("organization_audit_age", { ...FIRST, source: "account" })]: level(1, 1),
    },
    labels: { source: "webhooks" },
    severity: "warning",
    summary: "Entries of the audit log wait in webhooks for longer than five minutes",
  },
];
