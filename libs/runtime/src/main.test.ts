import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { describe, expect, it } from "vitest";

const RUNTIME = new URL("index.ts", import.meta.url).href;

describe("a process", () => {
  it("prints every configuration problem as one line on standard error, and starts nothing", async () => {
    const child = run(`start: async () => console.log("started")`, { HTTP_PORT: "x", LOG_LEVEL: "loud" });
    const { exitCode, stdout, stderr } = await ended(child);
    expect(exitCode).toBe(1);
    expect(stdout).toBe("");
    expect(stderr.trim().split("\n")).toEqual([
      "demo cannot start, its configuration has 3 problem(s):",
      "  HTTP_PORT: must be a whole number from 0 to 65535",
      "  INTERNAL_TOKEN: is required and not set",
      "  LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent",
    ]);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("stops in reverse order at %s and exits 0", async (signal) => {
    const child = run(`start: async ({ scope, logger, health }) => {
      const component = (name) => ({ value: name, stop: async () => logger.info({ ready: health.ready().ok }, "stop " + name) });
      await scope.start("first", () => component("first"));
      await scope.start("second", async () => component("second"));
    }`);
    const output = ended(child);
    await lineWith(child, '"ready"');
    child.kill(signal);
    const { exitCode, stdout } = await output;
    expect(messagesOf(stdout)).toEqual(["ready", "stopping", "stop second", "stop first", "stopped"]);
    expect(stdout).toContain('"ready":false');
    expect(exitCode).toBe(0);
  });

  it("continues its work during STOP_DELAY_MS after the signal, but is not ready, and then stops", async () => {
    const child = run(
      `start: async ({ scope, logger, health }) => {
        let stillAtWork = 0;
        const timer = setInterval(() => (stillAtWork += health.isStopping && !health.ready().ok ? 1 : 0), 5);
        await scope.start("work", () => ({ value: 1, stop: async () => {
          clearInterval(timer);
          logger.info(stillAtWork > 1 ? "worked on" : "ended at once");
        } }));
      }`,
      { ...WELL_CONFIGURED, STOP_DELAY_MS: "300" },
    );
    const output = ended(child);
    await lineWith(child, '"ready"');
    child.kill("SIGTERM");
    const { exitCode, stdout } = await output;
    expect(messagesOf(stdout)).toEqual(["ready", "stopping", "worked on", "stopped"]);
    expect(exitCode).toBe(0);
  });

  it("migrates with only the settings of PostgreSQL, and exits 0", async () => {
    const migrate = `start: () => undefined, migrate: async ({ config, logger }) => logger.info(config.POSTGRES_URL)`;
    const child = run(migrate, { POSTGRES_URL: "postgres://kapi@localhost/kapi" }, ["migrate"]);
    const { exitCode, stdout, stderr } = await ended(child);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(messagesOf(stdout)).toEqual(["postgres://kapi@localhost/kapi", "the schema is up to date"]);
  });

  it("stops the started components if the start fails, and exits 1", async () => {
    const child = run(`start: async ({ scope, logger }) => {
      await scope.start("first", () => ({ value: 1, stop: async () => logger.info("stop first") }));
      await scope.start("second", () => { throw new Error("address in use"); });
    }`);
    const { exitCode, stdout } = await ended(child);
    expect(exitCode).toBe(1);
    expect(messagesOf(stdout)).toEqual(["stop first", "the start failed", "stopped"]);
    expect(stdout).toContain("second did not start: address in use");
  });

  it.each([
    ["an unhandled rejection", `Promise.reject(new Error("lost"))`],
    ["an uncaught exception", `setTimeout(() => { throw new Error("lost"); })`],
    ["a fatal error", `context.fatal(new Error("lost"))`],
  ])("logs %s and exits 1", async (_what, code) => {
    const { exitCode, stdout } = await ended(run(`start: async (context) => { ${code}; }`));
    expect(exitCode).toBe(1);
    expect(messagesOf(stdout)).toContain("fatal error, the process ends");
    expect(stdout).toContain("lost");
  });

  it("stops at a signal during its start, and does not log that the start failed", async () => {
    const child = run(`start: async ({ scope, logger }) => {
      const received = Promise.withResolvers();
      const undone = Promise.withResolvers();
      await scope.start("first", () => ({ value: 1, stop: async () => {
        received.resolve();
        await undone.promise;
        await new Promise((resolve) => setImmediate(resolve));
        logger.info("stop first");
      } }));
      logger.info("waiting");
      await scope.start("second", async () => {
        await received.promise;
        return { value: 2, stop: async () => { logger.info("stop second"); undone.resolve(); } };
      });
    }`);
    const output = ended(child);
    await lineWith(child, "waiting");
    child.kill("SIGTERM");
    const { exitCode, stdout } = await output;
    expect(messagesOf(stdout)).toEqual(["waiting", "stopping", "stop second", "stop first", "stopped"]);
    expect(exitCode).toBe(0);
  });

  it("logs the failed start and exits 1, even if a signal arrives while the started components stop", async () => {
    const child = run(`start: async ({ scope, logger }) => {
      await scope.start("first", () => ({ value: 1, stop: async () => {
        const received = new Promise((resolve) => process.once("SIGTERM", resolve));
        logger.info("stop first");
        await received;
        await new Promise((resolve) => setImmediate(resolve));
      } }));
      await scope.start("second", () => { throw new Error("address in use"); });
    }`);
    const output = ended(child);
    await lineWith(child, "stop first");
    child.kill("SIGTERM");
    const { exitCode, stdout } = await output;
    expect(messagesOf(stdout)).toEqual(["stop first", "the start failed", "stopping", "stopped"]);
    expect(stdout).toContain("second did not start: address in use");
    expect(exitCode).toBe(1);
  });

  it("exits 1 if a component does not stop cleanly", async () => {
    const child = run(`start: async ({ scope }) => {
      await scope.start("broken", () => ({ value: 1, stop: async () => { throw new Error("stuck"); } }));
    }`);
    const output = ended(child);
    await lineWith(child, '"ready"');
    child.kill("SIGTERM");
    const { exitCode, stdout } = await output;
    expect(exitCode).toBe(1);
    expect(stdout).toContain("broken did not stop: stuck");
  });

  it("is killed at a fault point and logs nothing after it", async () => {
    const child = run(
      `start: async ({ logger }) => { logger.info("before"); faultPoint("here"); logger.info("after"); }`,
      {
        HTTP_PORT: "0",
        INTERNAL_TOKEN: "a token of this test",
        FAULT_POINT: "here",
      },
    );
    const { signal, stdout } = await ended(child);
    expect(signal).toBe("SIGKILL");
    expect(messagesOf(stdout)).toEqual(["before"]);
  });
});

describe("a process of several services", () => {
  it("gives each service its own settings, and stops services with `stopsFirst` before the others", async () => {
    const child = runSeveral(
      `[
        { service: "first-one", schema, start: component },
        { service: "entry", schema, start: component, stopsFirst: true },
      ]`,
      { HTTP_PORT: "1", FIRST_ONE__HTTP_PORT: "2", INTERNAL_TOKEN: "a token of this test" },
    );
    const output = ended(child);
    await lineWith(child, '"ready"');
    child.kill("SIGTERM");
    const { exitCode, stdout } = await output;
    expect(messagesOf(stdout)).toEqual([
      "first-one starts 2",
      "entry starts 1",
      "ready",
      "ready",
      "stopping",
      "entry stops, ready: false",
      "first-one stops, ready: false",
      "stopped",
    ]);
    expect(exitCode).toBe(0);
  });

  it("stops all its services and exits 1 if one service does not start", async () => {
    const child = runSeveral(`[
      { service: "good", schema, start: component },
      { service: "bad", schema, start: async () => { throw new Error("address in use"); } },
    ]`);
    const { exitCode, stdout } = await ended(child);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("address in use");
    expect(messagesOf(stdout).at(-2)).toBe("good stops, ready: false");
  });

  it("names the service of each configuration problem", async () => {
    const child = runSeveral(
      `[{ service: "one", schema, start: component }, { service: "two", schema, start: component }]`,
      {
        HTTP_PORT: "0",
        ONE__INTERNAL_TOKEN: "a token of this test",
        TWO__HTTP_PORT: "x",
      },
    );
    const { exitCode, stderr } = await ended(child);
    expect(exitCode).toBe(1);
    expect(stderr.trim().split("\n")).toEqual([
      "together cannot start, its configuration has 2 problem(s):",
      "  two: HTTP_PORT: must be a whole number from 0 to 65535",
      "  two: INTERNAL_TOKEN: is required and not set",
    ]);
  });
});

const WELL_CONFIGURED = { HTTP_PORT: "0", INTERNAL_TOKEN: "a token of this test" };

describe("a process with tracing", () => {
  it("adds the trace and the request id to log lines of a request, and sends the last spans before the exit", async () => {
    const child = run(
      `start: async ({ logger }) => {
        const span = startRequestSpan("GET /demo", undefined, "r-9");
        span.run(() => logger.info("inside"));
        span.end({}, false);
      }`,
      { ...WELL_CONFIGURED, OTEL_TRACES_EXPORTER: "console", OTEL_BSP_SCHEDULE_DELAY: "60000" },
    );
    const output = ended(child);
    await lineWith(child, '"ready"');
    child.kill("SIGTERM");
    const { exitCode, stdout } = await output;
    const inside = stdout.split("\n").find((line) => line.includes('"inside"')) ?? "{}";
    expect(JSON.parse(inside)).toMatchObject({ requestId: "r-9", trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(stdout).toContain("GET /demo");
    expect(exitCode).toBe(0);
  });
});

/** Starts a child process with runMain; `start` is the source text of properties of the program. */
function run(start: string, env: Record<string, string> = WELL_CONFIGURED, args: readonly string[] = []): ChildProcess {
  return spawnProgram(`await runMain({ service: "demo", schema, ${start} });`, env, args);
}

/** Starts a child process with runTogether; `programs` is the source text of a list. */
function runSeveral(programs: string, env: Record<string, string> = WELL_CONFIGURED): ChildProcess {
  const component = `({ scope, config, logger, health }) => {
    const service = logger.bindings().service;
    logger.info(service + " starts " + config.HTTP_PORT);
    return scope.start("part", () => ({
      value: 1,
      stop: async () => logger.info(service + " stops, ready: " + health.ready().ok),
    }));
  }`;
  return spawnProgram(`const component = ${component}; await runTogether("together", ${programs});`, env, []);
}

function spawnProgram(lastStatements: string, env: Record<string, string>, args: readonly string[]): ChildProcess {
  const code = `
    import { configFields, faultPoint, runMain, runTogether, startRequestSpan } from ${JSON.stringify(RUNTIME)};
    import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
    const schema = z.object({ HTTP_PORT: configFields.httpPort, INTERNAL_TOKEN: configFields.internalToken });
    ${lastStatements}
  `;
  const program = ["--input-type=module", "--eval", code, "--", "demo", ...args];
  return spawn(process.execPath, program, { env, stdio: ["ignore", "pipe", "pipe"] });
}

interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  await once(child, "close");
  return { exitCode: child.exitCode, signal: child.signalCode, ...output };
}

function lineWith(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes(text)) resolve();
    });
  });
}

function messagesOf(stdout: string): string[] {
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => String((JSON.parse(line) as { msg: unknown }).msg));
}
