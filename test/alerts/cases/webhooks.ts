import { level, rising } from "../phases.ts";
import { type AlertCase, kapi } from "./case.ts";

/** Webhooks that are late or fail. */
export const WEBHOOKS: readonly AlertCase[] = [
  {
    alert: "KapiWebhooksLate",
    when: "the oldest delivery is 90 s overdue",
    series: { [kapi("webhooks_deliveries_overdue")]: level(0, 90) },
    labels: {},
    severity: "warning",
    summary: "Webhooks are sent more than a minute late",
  },
  {
    alert: "KapiWebhookBacklog",
    when: "60,000 deliveries are open",
    series: { [kapi("webhooks_deliveries_open")]: level(40_000, 60_000) },
    labels: {},
    severity: "warning",
    summary: "More than 50,000 webhooks wait for delivery",
  },
  {
    alert: "KapiWebhooksFail",
    when: "three of four attempts fail",
    series: {
      [kapi("webhooks_attempts_total", { outcome: "succeeded" })]: rising(4, 1),
      [kapi("webhooks_attempts_total", { outcome: "failed" })]: rising(0, 3),
    },
    labels: {},
    severity: "warning",
    summary: "More than half of the attempts to deliver webhooks fail",
  },
];
