import { level, missing, restarting } from "../phases.ts";
import { type AlertCase, FIRST, SECOND, kapi } from "./case.ts";

/** Processes that are unavailable, restart, or are overloaded. */
export const PROCESSES: readonly AlertCase[] = [
  {
    alert: "KapiNotMeasured",
    when: "Prometheus loses every target",
    series: { [kapi("up", FIRST)]: missing(1) },
    labels: { application: "kapi" },
    severity: "critical",
    summary: "Prometheus has no process of kapi as a target",
  },
  {
    alert: "KapiServiceDown",
    when: "all processes of a service are unavailable",
    series: { [kapi("up", FIRST)]: level(1, 0), [kapi("up", SECOND)]: level(1, 0) },
    labels: { job: "finance" },
    severity: "critical",
    summary: "No process of finance is up",
  },
  {
    alert: "KapiServiceDown",
    when: "all targets of a service vanish from Prometheus",
    series: { [kapi("up", FIRST)]: missing(1), [kapi("up", { job: "gateway" })]: level(1, 1) },
    labels: { job: "finance" },
    severity: "critical",
    summary: "No process of finance is up",
  },
  {
    alert: "KapiProcessDown",
    when: "one of two processes is unavailable",
    series: { [kapi("up", FIRST)]: level(1, 1), [kapi("up", SECOND)]: level(1, 0) },
    labels: { application: "kapi", ...SECOND },
    severity: "warning",
    summary: "A process of finance does not answer at 10.0.0.2:9464",
  },
  {
    alert: "KapiProcessRestarts",
    when: "a process restarts every minute",
    series: { [kapi("process_uptime", FIRST)]: restarting() },
    labels: { application: "kapi", ...FIRST },
    severity: "warning",
    summary: "A process of finance restarts repeatedly at 10.0.0.1:9464",
  },
  {
    alert: "KapiEventLoopBusy",
    when: "the event loop of a process is busy all the time",
    series: { [kapi("nodejs_eventloop_utilization", FIRST)]: level(0.4, 0.99) },
    labels: { application: "kapi", ...FIRST },
    severity: "warning",
    summary: "The event loop of finance is busy at 10.0.0.1:9464",
  },
  {
    alert: "KapiDatabasePoolExhausted",
    when: "queries wait for a database connection all the time",
    series: { [kapi("postgres_pool_waiting", { ...FIRST, pool: "finance" })]: level(0, 3) },
    labels: { application: "kapi", ...FIRST, pool: "finance" },
    severity: "warning",
    summary: "finance waits for database connections at 10.0.0.1:9464",
  },
];
