import { appearing, level, rising } from "../phases.ts";
import { type AlertCase, kapi } from "./case.ts";

/** Two metrics processes with two partitions each. During the fault, `b` writes no partition. */
const SEQUENCERS: Readonly<Record<string, string>> = {
  [kapi("metrics_partitions_written", { instance: "a" })]: level(2, 2),
  [kapi("metrics_partitions_written", { instance: "b" })]: level(2, 0),
  ...Object.fromEntries(
    ["a", "a", "b", "b"].map((instance, partition) => [
      kapi("kafka_consumer_lag", { group: "metrics-sequencer", instance, partition: String(partition) }),
      level(0, 10),
    ]),
  ),
};

/** Live metrics that are late or not delivered. */
export const LIVE: readonly AlertCase[] = [
  {
    alert: "KapiValuationsLate",
    when: "8,000 valuations wait",
    series: {
      [kapi("kafka_consumer_lag", { group: "metrics-sequencer", topic: "trading.valuations", partition: "0" })]: level(
        50,
        8_000,
      ),
    },
    labels: {},
    severity: "critical",
    summary: "Valuations wait to be sequenced",
  },
  {
    alert: "KapiValuationsLost",
    when: "for the first time, retention deletes valuations before they are compared with rules",
    series: { [kapi("risk_valuations_lost_total", { job: "risk" })]: appearing(40) },
    labels: {},
    severity: "critical",
    summary: "Valuations were deleted before risk rules were compared with them",
  },
  {
    alert: "KapiPartitionsUnwritten",
    when: "two of four partitions have no writer",
    series: SEQUENCERS,
    labels: {},
    severity: "critical",
    summary: "Some partitions have valuations but no sequencer",
  },
  {
    alert: "KapiSamplesLate",
    when: "a process is 9,000 samples behind",
    series: {
      [kapi("kafka_reader_lag", { job: "stream", instance: "a", topic: "metrics.samples", partition: "0" })]: level(
        20,
        9_000,
      ),
    },
    labels: { job: "stream", instance: "a" },
    severity: "critical",
    summary: "A process of stream reads samples late at a",
  },
  {
    alert: "KapiSamplesRefused",
    when: "five samples a second are rejected",
    series: { [kapi("metrics_samples_refused_total", { instance: "a" })]: rising(0.1, 5) },
    labels: {},
    severity: "warning",
    summary: "Two processes write samples of the same partition",
  },
  {
    alert: "KapiReplaysTruncated",
    when: "one subscriber a second misses samples",
    series: { [kapi("metrics_replays_truncated_total", { instance: "a" })]: rising(0.01, 1) },
    labels: {},
    severity: "warning",
    summary: "Subscribers repeatedly miss samples",
  },
  {
    alert: "KapiSocketsStalled",
    when: "30 of 100 sockets do not drain",
    series: { [kapi("metrics_live_sockets")]: level(100, 100), [kapi("metrics_live_sockets_stalled")]: level(1, 30) },
    labels: {},
    severity: "warning",
    summary: "More than a fifth of the live sockets do not drain",
  },
  {
    alert: "KapiHandshakesFail",
    when: "half of the handshakes are answered 500",
    series: {
      [kapi("metrics_live_handshakes_total", { status: "101" })]: rising(1, 0.5),
      [kapi("metrics_live_handshakes_total", { status: "500" })]: rising(0, 0.5),
    },
    labels: {},
    severity: "critical",
    summary: "More than 5 % of live handshakes fail with 5xx",
  },
];
