/** Publishes a sample of each valuation, and keeps the newest samples of each account in memory. */
import { TOPICS } from "@kapi/contracts";
import { startLogReader, LIVE_INTERVAL_MS } from "@kapi/kafka";

import { bareProcess, fatal, parsed } from "./bare-process.ts";

const WINDOW_SAMPLES = 20;
/** Minimum time between fetches under load, as in the metrics service. */
const BUSY_INTERVAL_MS = 10;

const { kafka, logger, consume, publish, hello } = await bareProcess("metrics", LIVE_INTERVAL_MS);
const sequences = new Map<string, number>();
const windows = new Map<string, Buffer[]>();

await startLogReader(kafka, {
  topic: TOPICS.metricsSamples,
  from: "beginning",
  logger,
  fatal,
  onBatch: (_partition, messages) => {
    for (const { key, value } of messages) {
      const window = windows.get(key) ?? [];
      windows.set(key, window);
      window.push(value);
      if (window.length > WINDOW_SAMPLES) window.shift();
    }
  },
});
await consume(TOPICS.tradingValuations, { busyIntervalMs: BUSY_INTERVAL_MS }, async (messages) => {
  for (const valuation of parsed<{ accountNumber: string }>(messages)) {
    const { accountNumber } = valuation;
    const sequence = (sequences.get(accountNumber) ?? 0) + 1;
    sequences.set(accountNumber, sequence);
    const headers = { sequence: String(sequence), from: "0", to: "1" };
    publish(TOPICS.metricsSamples, accountNumber, JSON.stringify({ type: "sample", sequence, ...valuation }), headers);
  }
});
hello({ ready: true });
