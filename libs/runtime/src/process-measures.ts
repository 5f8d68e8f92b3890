import { performance } from "node:perf_hooks";

import { observed } from "./metrics.ts";

/** Measures memory and event loop of the process. */
export function measureProcess(): void {
  observed("process.memory.usage", "Memory of the process that is in the machine's (resident set)", "By", () => [
    { value: process.memoryUsage.rss() },
  ]);
  observed("process.uptime", "How long ago the process started", "s", () => [{ value: process.uptime() }]);
  let before = performance.eventLoopUtilization();
  observed(
    "nodejs.eventloop.utilization",
    "Share of the time since the last look in which the event loop was at work",
    "1",
    () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return [{ value: utilization }];
    },
  );
}
