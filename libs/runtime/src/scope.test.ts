import { describe, expect, it } from "vitest";

import { Scope } from "./scope.ts";

describe("a scope", () => {
  it("stops its components in reverse order", async () => {
    const { scope, log, start } = recorded();
    await start("first");
    await start("second");
    await scope.stop();
    expect(log).toEqual(["start first", "start second", "stop second", "stop first"]);
  });

  it("stops all components when a start fails, and names the failed component", async () => {
    const { scope, log, start } = recorded();
    await start("first");
    await start("second");
    const failing = scope.start("third", () => Promise.reject(new Error("no route to host")));
    await expect(failing).rejects.toThrow("third did not start: no route to host");
    expect(log).toEqual(["start first", "start second", "stop second", "stop first"]);
  });

  it("stops all other components if one fails to stop and one does not stop in time, and reports both", async () => {
    const { scope, log, start } = recorded(20);
    await start("first");
    await scope.start("broken", () => ({ value: 1, stop: () => Promise.reject(new Error("already gone")) }));
    await scope.start("hanging", () => ({ value: 1, stop: () => Promise.withResolvers<void>().promise }));
    await expect(scope.stop()).rejects.toThrow(
      "hanging did not stop: no end within 20 ms; broken did not stop: already gone",
    );
    expect(log).toEqual(["start first", "stop first"]);
  });

  it("stops once for several calls of `stop`, and every caller waits for the end", async () => {
    const { scope, log } = recorded();
    const gate = Promise.withResolvers<void>();
    await scope.start("slow", () => ({
      value: 1,
      stop: async () => {
        log.push("stopping");
        await gate.promise;
        log.push("stopped");
      },
    }));
    const first = scope.stop();
    const second = scope.stop().then(() => log.push("second call"));
    gate.resolve();
    await Promise.all([first, second]);
    expect(log).toEqual(["stopping", "stopped", "second call"]);
  });

  it("starts nothing while it stops, and stops a component that was just starting", async () => {
    const { scope, log, start } = recorded();
    const gate = Promise.withResolvers<void>();
    const slow = scope.start("slow", async () => {
      await gate.promise;
      return { value: 1, stop: async () => void log.push("stop slow") };
    });
    const refused = expect(slow).rejects.toThrow("slow was stopped right after its start: the process is stopping");
    await scope.stop();
    gate.resolve();
    await refused;
    expect(log).toEqual(["stop slow"]);
    await expect(start("late")).rejects.toThrow("late was not started: the process is stopping");
  });
});

function recorded(stopDeadlineMs = 1_000): { scope: Scope; log: string[]; start: (name: string) => Promise<string> } {
  const scope = new Scope({ stopDeadlineMs });
  const log: string[] = [];
  const start = (name: string): Promise<string> =>
    scope.start(name, () => {
      log.push(`start ${name}`);
      return { value: name, stop: async () => void log.push(`stop ${name}`) };
    });
  return { scope, log, start };
}
