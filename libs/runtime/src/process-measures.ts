import { performance } from "node:perf_hooks";

import { observed } from "./metrics.ts";

/** Registers the metrics of the process itself: memory, uptime and event loop. */
export function measureProcess(): void {
  observed("process.memory.usage", "Resident memory of the process", "By", () => [
    { value: process.memoryUsage.rss() },
  ]);
  observed("process.uptime", "Time since the start of the process", "s", () => [{ value: process.uptime() }]);
  let before = performance.eventLoopUtilization();
  observed(
    "nodejs.eventloop.utilization",
    "Share of the time since the last collection of metrics in which the event loop was busy",
    "1",
    () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return [{ value: utilization }];
    },
  );
}
