import type { Logger } from "@kapi/runtime";
import { expect, it } from "vitest";

import type { MonthRepository } from "../domain/ports.ts";
import { maintainMonths } from "./maintain-months.ts";

const unused = (): never => {
  throw new Error("not expected");
};

/** Maintains one expired month; returns what was logged. */
async function maintain(months: Partial<MonthRepository>, signal: AbortSignal): Promise<string[]> {
  const logged: string[] = [];
  const log = (_fields: object, text: string): void => void logged.push(text);
  await maintainMonths({
    months: {
      createPartitions: () => Promise.resolve(),
      backfillIds: () => Promise.resolve(false),
      findExpired: () => Promise.resolve([{ month: "2026-01-01", isOpen: false }]),
      archiveOutcomes: () => Promise.resolve(null),
      drop: unused,
      ...months,
    },
    keptMonths: 1,
    logger: { info: log, warn: log } as unknown as Logger,
    signal,
  });
  return logged;
}

it("if the process stops while outcomes are archived, the month is not dropped, and nothing is logged", async () => {
  const stop = new AbortController();
  const archiveOutcomes = (): Promise<number> => {
    stop.abort();
    return Promise.resolve(1);
  };
  expect(await maintain({ archiveOutcomes }, stop.signal)).toEqual([]);
});

it("a month that a running statement uses is reported", async () => {
  const stop = new AbortController();
  const drop = (): Promise<"used"> => {
    stop.abort();
    return Promise.resolve("used");
  };
  expect(await maintain({ drop }, stop.signal)).toEqual([expect.stringContaining("a running statement uses it")]);
});
