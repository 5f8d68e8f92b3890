import { expect, it } from "vitest";

import type { QueuedCommand } from "../commands/queued-command.ts";
import type { ExportRecord } from "../commands/results.ts";
import { exportRecords } from "./export.ts";

/** Times of deals of a trading server that sends microseconds, newest first. */
const TIMES = ["00.002Z", "00.001750Z", "00.001500Z", "00.001250Z", "00.001Z", "00.000Z"];
const DEALS = TIMES.map((time) => ({ kind: "deal", id: time, executedAt: `2026-05-01T12:00:${time}` }) as ExportRecord);

const millisecondOf = (record: ExportRecord): number => Date.parse(record.kind === "deal" ? record.executedAt : "");

/** Exports as kapi does: `to` is inclusive, and means the whole millisecond. */
function queueWith(limit: number) {
  let exports = 0;
  return async ({ to }: { to?: string }) => {
    exports += 1;
    if (exports > DEALS.length) throw new Error("the exports do not end");
    const matching = DEALS.filter((deal) => to === undefined || millisecondOf(deal) <= Date.parse(to));
    const result = { records: matching.slice(0, limit), truncated: matching.length > limit };
    return { result: async () => result } as unknown as QueuedCommand<"account.history_export">;
  };
}

it("an export returns every record of a long history once, even if the trading server sends microseconds", async () => {
  const ids = [];
  for await (const { id } of exportRecords(queueWith(5), { key: "key" })) ids.push(id);
  expect(ids).toEqual(TIMES);
});

it("an export fails instead of losing records if one command cannot return all records of a millisecond", async () => {
  const read = async (): Promise<void> => {
    for await (const record of exportRecords(queueWith(3), { key: "key" })) expect(record.kind).toBe("deal");
  };
  await expect(read()).rejects.toThrow("too many records have the time");
});
