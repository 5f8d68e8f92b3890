import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { DebianPackages } from "./machine/packages.ts";
import { kafka } from "./kafka.ts";
import { postgres } from "./postgres.ts";
import { redis } from "./redis.ts";
import { silentReport } from "./report.ts";
import { StateRecord } from "./state/record.ts";
import { generateSecrets } from "./state/secrets.ts";
import type { RunningServer, ServerContext, ServerKind } from "./server.ts";
import { startServer } from "./ways.ts";

/** An address where no Docker engine listens. */
const NO_ENGINE = "unix:///nowhere/docker.sock";

let folder: string;
let record: StateRecord;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-ways-"));
  record = await StateRecord.open(folder);
});
afterEach(async () => {
  await record.close();
  rmSync(folder, { recursive: true, force: true });
});

function context(env: Record<string, string>): ServerContext {
  return {
    stateDir: folder,
    env: { DOCKER_HOST: NO_ENGINE, ...env },
    record,
    secrets: generateSecrets(),
    report: silentReport,
    packages: new DebianPackages(),
    ephemeral: true,
  };
}

function answeringKind(): ServerKind {
  const by = (way: RunningServer["way"]) => (): Promise<RunningServer> =>
    Promise.resolve({ name: "redis", way, address: "redis://127.0.0.1:1", stop: () => Promise.resolve() });
  return {
    name: "redis",
    title: "Redis",
    variable: "REDIS_URL",
    answers: () => Promise.resolve(true),
    container: by("container"),
    native: by("native"),
  };
}

describe("the start of a server", () => {
  it("uses the address in the environment, if there is one", async () => {
    const server = await startServer(answeringKind(), context({ REDIS_URL: "redis://example:1" }));
    expect(server).toMatchObject({ way: "given", address: "redis://example:1" });
  });

  it("reports a given server without a version, because kapi does not check its version", async () => {
    const steps: string[] = [];
    const report = { ...silentReport, done: (what: string) => steps.push(what) };
    const given = {
      REDIS_URL: "redis://:secret@example:1",
      KAFKA_BROKERS: "one:1,two:2",
      POSTGRES_URL: "postgres://p",
    };
    for (const kind of [redis, kafka, postgres]) {
      await startServer({ ...kind, answers: () => Promise.resolve(true) }, { ...context(given), report });
    }
    expect(steps).toEqual(["Redis (given) on example:1", "Kafka (given) on one:1,two:2", "PostgreSQL (given) on p"]);
  });

  it("names the variable of a malformed address", async () => {
    await expect(startServer(answeringKind(), context({ REDIS_URL: "example" }))).rejects.toThrow(
      "REDIS_URL is no URL",
    );
  });

  it("uses a process on this machine if no Docker engine answers", async () => {
    expect((await startServer(answeringKind(), context({}))).way).toBe("native");
  });

  it("fails with LOCAL_SERVERS=containers if no Docker engine answers", async () => {
    const forced = startServer(answeringKind(), context({ LOCAL_SERVERS: "containers" }));
    await expect(forced).rejects.toThrow("no Docker engine answers");
  });

  it("fails with an unknown value of LOCAL_SERVERS", async () => {
    await expect(startServer(answeringKind(), context({ LOCAL_SERVERS: "magic" }))).rejects.toThrow('"magic"');
  });
});
