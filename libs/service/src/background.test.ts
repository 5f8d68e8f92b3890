import { getEventListeners } from "node:events";

import { createLogger, Health, Scope } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { expect, it, vi } from "vitest";

import { startReader, startRepeated, startRestartedReader } from "./background.ts";

const logger = createLogger({ service: "test", level: "silent" });

it("a process is not live if one of its readers makes no progress, and the reason names the reader", async () => {
  const [scope, health] = [new Scope(), new Health()];
  let problem: string | null = null;
  const stop = (): Promise<void> => Promise.resolve();
  await startReader({ scope, health }, "events", () => Promise.resolve({ value: { check: () => problem }, stop }));
  expect(health.live()).toEqual({ ok: true, reasons: {} });
  problem = "no batch for 60 s";
  expect(health.live()).toEqual({ ok: false, reasons: { events: problem } });
});

it("repeated work stops with the process, and the stop waits for the running round", async () => {
  const scope = new Scope();
  const round = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let rounds = 0;
  await startRepeated(
    { scope, logger },
    {
      name: "work",
      pauseMs: 1,
      round: () => {
        rounds += 1;
        begun.resolve();
        return round.promise;
      },
    },
  );
  await begun.promise;
  let isStopped = false;
  const stopped = scope.stop().then(() => {
    isStopped = true;
  });
  await Promise.resolve();
  expect(isStopped).toBe(false);
  round.resolve();
  await stopped;
  expect(rounds).toBe(1);
});

it("a reader that fails is started again, leaves no listener, and the process stays alive and ready", async () => {
  const [scope, health] = [new Scope(), new Health()];
  const listens = vi.spyOn(AbortSignal.prototype, "addEventListener");
  const failures: ((error: Error) => void)[] = [];
  let stops = 0;
  let isBroken = false;
  const start = (fatal: (error: Error) => void) => {
    failures.push(fatal);
    if (isBroken) return Promise.reject(new Error("no broker"));
    const stop = (): Promise<void> => {
      stops += 1;
      return Promise.resolve();
    };
    return Promise.resolve({ value: { check: () => null }, stop });
  };
  await startRestartedReader({ scope, health, logger }, "log", start);
  await eventually(() => expect(failures).toHaveLength(1));
  isBroken = true;
  failures[0]?.(new Error("a bug"));
  await eventually(() => expect(failures.length).toBeGreaterThan(1));
  expect([health.live().ok, health.ready().ok]).toEqual([true, true]);
  isBroken = false;
  await eventually(() => expect(failures).toHaveLength(3), { timeoutMs: 10_000 });
  expect(stops).toBe(1);
  const listeners = listens.mock.contexts.map((signal) => getEventListeners(signal as AbortSignal, "abort").length);
  expect(Math.max(...listeners)).toBe(1);
  await scope.stop();
  expect(stops).toBe(2);
});

it("a reader that is still starting does not delay the stop of the process, and is stopped as soon as it has started", async () => {
  const [scope, health] = [new Scope(), new Health()];
  const late = Promise.withResolvers<{ value: { check: () => null }; stop: () => Promise<void> }>();
  await startRestartedReader({ scope, health, logger }, "log", () => late.promise);
  expect(health.ready().ok).toBe(true);
  await scope.stop();
  const stopped = Promise.withResolvers<void>();
  late.resolve({ value: { check: () => null }, stop: () => Promise.resolve(stopped.resolve()) });
  await stopped.promise;
});
