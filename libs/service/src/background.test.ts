import { createLogger, Health, Scope } from "@kapi/runtime";
import { expect, it } from "vitest";

import { startReader, startRepeated } from "./background.ts";

const logger = createLogger({ service: "test", level: "silent" });

it("a process whose reader stands still is not live, and says which reader", async () => {
  const [scope, health] = [new Scope(), new Health()];
  let problem: string | null = null;
  const stop = (): Promise<void> => Promise.resolve();
  await startReader({ scope, health }, "events", () => Promise.resolve({ value: { check: () => problem }, stop }));
  expect(health.live()).toEqual({ ok: true, reasons: {} });
  problem = "no batch for 60 s";
  expect(health.live()).toEqual({ ok: false, reasons: { events: problem } });
});

it("repeated work ends with the process, after the running round", async () => {
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
