/**
 * deploy/programs.json lists the secrets that the settings of each program read, except those of
 * Kafka, Redis and PostgreSQL. Docker Compose, `npm start` and docs/operate.md agree with this
 * list. The chart creates environments from it. `npm run verify -- helm` tests the rendered chart.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { describe, expect, it } from "vitest";
import type { z } from "zod";

import { CALLERS, INTERNAL_CALLS } from "@kapi/contracts";
import { generateSecrets } from "@kapi/servers";

import { KafkaCommandSettings } from "../../deploy/cli/src/commands/partitions.ts";
import { OperatorSettings } from "../../deploy/cli/src/operator.ts";
import { programEnvironment } from "../../deploy/local/src/services/plan.ts";
import { ConfigSchema as account } from "../../services/account/src/config.ts";
import { ConfigSchema as commandStatus } from "../../services/command-status/src/config.ts";
import { ConfigSchema as console } from "../../services/console/src/config.ts";
import { ConfigSchema as risk } from "../../services/risk/src/config.ts";
import { ConfigSchema as exportSchema } from "../../services/export/src/config.ts";
import { ConfigSchema as finance } from "../../services/finance/src/config.ts";
import { ConfigSchema as gateway } from "../../services/gateway/src/config.ts";
import { ConfigSchema as metrics } from "../../services/metrics/src/config.ts";
import { ConfigSchema as organization } from "../../services/organization/src/config.ts";
import { ConfigSchema as tradingServer } from "../../services/trading-simulator/src/config.ts";
import { ConfigSchema as webhooks } from "../../services/webhooks/src/config.ts";
import { documentedSecrets, readPrograms, type Uses, usesInCompose, usesOf, variableOf } from "./secrets.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");
const PROGRAMS = readPrograms(read("deploy/programs.json"));
/**
 * The schemas of all programs except the job `topics`, whose settings are in
 * deploy/kafka/src/main.ts.
 */
const SETTINGS = new Map<string, z.ZodObject>([
  ["gateway", gateway],
  ["account", account],
  ["finance", finance],
  ["export", exportSchema],
  ["command-status", commandStatus],
  ["metrics", metrics],
  ["organization", organization],
  ["console", console],
  ["risk", risk],
  ["webhooks", webhooks],
  ["trading-simulator", tradingServer],
  ["cli", OperatorSettings.extend(KafkaCommandSettings.shape)],
]);
const SERVICES = readdirSync(path.join(ROOT, "services"));
/** The variables of the secrets that Docker Compose and `npm start` generate. */
const generatedOf = (uses: Uses): string[] => [...uses.secrets, ...uses.optionalSecrets].map(variableOf).toSorted();
const secretsOf = (uses: Uses): string[] => [...generatedOf(uses), ...uses.givenSecrets.map(variableOf)].toSorted();
const ofUpgrade = (uses: Uses): string[] => uses.upgradeSecrets.map(variableOf);
const SECRET_VARIABLES = new Set([...PROGRAMS.values()].flatMap((uses) => secretsOf(uses).concat(ofUpgrade(uses))));
/** Matches the names of variables with secrets. */
const SECRET_NAME = /(?:TOKENS?|KEYS?|SECRETS?|PASSWORDS?|DIGESTS?)$/;
/** Matches the names of variables for Kafka, Redis and PostgreSQL. */
const OF_A_SERVER = /^(?:KAFKA|REDIS|POSTGRES)_/;

it("every program is in deploy/programs.json", () => {
  expect([...PROGRAMS.keys()].toSorted()).toEqual([...SETTINGS.keys(), "topics"].toSorted());
  expect([...SETTINGS.keys()].filter((name) => name !== "cli").toSorted()).toEqual(SERVICES.toSorted());
});

function usesOfProgram(program: string): Uses {
  const uses = PROGRAMS.get(program);
  if (uses === undefined) throw new Error(`deploy/programs.json does not have ${program}`);
  return uses;
}

describe.each([...SETTINGS])("%s", (program, schema) => {
  const uses = usesOfProgram(program);
  const variables = Object.keys(schema.shape);
  const expected = { servers: uses.servers, secrets: secretsOf(uses), calls: uses.calls.toSorted() };

  it("gets exactly the secrets, servers and services that its settings read", () => {
    const secrets = [...secretsOf(uses), ...ofUpgrade(uses)].toSorted();
    expect(usesOf(variables, SECRET_VARIABLES, SERVICES)).toEqual({ ...expected, secrets });
    const unknown = variables.filter((name) => SECRET_NAME.test(name) && !OF_A_SERVER.test(name));
    expect(unknown.filter((name) => !SECRET_VARIABLES.has(name))).toEqual([]);
  });

  it("has its generated secrets, its servers and services in Docker Compose, and no volume but that of its secrets", () => {
    const inCompose = usesInCompose(read("docker-compose.yml"), program);
    const secrets = generatedOf(uses);
    expect(usesOf(inCompose.variables, SECRET_VARIABLES, SERVICES)).toEqual({ ...expected, secrets });
    expect(inCompose.volumes).toEqual([`${program}-secrets:/run/secrets:ro`]);
  });

  it("has its servers, its services and its generated secrets in npm start, but no CONTROL_TOKEN", () => {
    const environment = programEnvironment(program, {
      servers: { kafkaBrokers: "k:1", postgresUrl: "postgres://p", redisUrl: "redis://r" },
      topicPrefix: "",
      secrets: generateSecrets(),
      ports: { of: () => 1 },
      base: {},
    });
    const given = Object.keys(environment).filter((variable) => environment[variable] !== undefined);
    const secrets = generatedOf(uses).filter((variable) => variable !== "CONTROL_TOKEN");
    expect(usesOf(given, SECRET_VARIABLES, SERVICES)).toEqual({ ...expected, secrets });
  });

  it("has its secrets in docs/operate.md", () => {
    expect(documentedSecrets(read("docs/operate.md")).get(program)?.toSorted()).toEqual(secretsOf(uses));
  });
});

it("only cli has the operator's token, only callers have service tokens, only called services have token digests", () => {
  const having = (secret: string): string[] =>
    [...PROGRAMS].filter(([, uses]) => uses.secrets.includes(secret)).map(([program]) => program);
  expect(having("operator-token")).toEqual(["cli"]);
  expect([...having("service-token"), "operator"].toSorted()).toEqual(CALLERS.toSorted());
  const calling = [...PROGRAMS].filter(([, { calls }]) => calls.length > 0).map(([program]) => program);
  expect([...having("service-token"), "cli"].toSorted()).toEqual(calling.toSorted());
  expect(having("service-token-digests").toSorted()).toEqual(Object.keys(INTERNAL_CALLS).toSorted());
});

it("services call exactly the owners that the table of internal operations allows", () => {
  for (const [owner, operations] of Object.entries<Readonly<Record<string, readonly string[]>>>(INTERNAL_CALLS)) {
    const callers = new Set(Object.values(operations).flat());
    // Metrics processes reach each other at the addresses in SAMPLES_URL and WINDOWS_URLS.
    callers.delete(owner);
    const calling = [...PROGRAMS].filter(([, { calls }]) => calls.includes(owner)).map(([program]) => program);
    // The operator may call a route of metrics, but the command line does not call it.
    const expected = owner === "metrics" ? ["cli", ...calling] : calling;
    expect([...callers].map((caller) => (caller === "operator" ? "cli" : caller)).toSorted()).toEqual(
      expected.toSorted(),
    );
  }
});

it("only account and gateway have password keys", () => {
  for (const secret of ["password-derivation-keys", "password-sealing-keys"]) {
    const having = [...PROGRAMS].filter(([, uses]) => uses.secrets.includes(secret)).map(([program]) => program);
    expect(having.toSorted()).toEqual(["account", "gateway"]);
  }
});

it("by default only account and finance reach trading servers, and only webhooks reaches the internet", () => {
  const reaching = [...PROGRAMS].filter(([, { outside }]) => outside.length > 0);
  expect(Object.fromEntries(reaching.map(([program, { outside }]) => [program, outside]))).toEqual({
    account: ["trading-servers"],
    finance: ["trading-servers"],
    webhooks: ["internet"],
  });
});

describe("the chart", () => {
  it("has the same programs.json, and documents each secret that is not optional", () => {
    expect(read("deploy/helm/kapi/programs.json")).toBe(read("deploy/programs.json"));
    const [, asked = ""] = /^secrets:\n((?: .*\n)+)/m.exec(read("deploy/helm/kapi/values.yaml")) ?? [];
    // The chart runs the command line only with `cli.enabled`.
    const inChart = [...PROGRAMS].filter(([program]) => program !== "cli").flatMap(([, { secrets }]) => secrets);
    for (const secret of new Set(inChart)) expect(asked).toContain(secret);
  });
});

describe("make-secrets.mjs", () => {
  it("prints its usage for --help, and creates no folder for an unknown option", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-secrets-"));
    try {
      const run = (option: string) =>
        spawnSync(process.execPath, [path.join(ROOT, "deploy/docker/make-secrets.mjs"), option], {
          cwd: folder,
          encoding: "utf8",
        });
      expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^usage: /), stderr: "" });
      expect(run("--kubernets")).toMatchObject({ status: 2, stdout: "", stderr: expect.stringMatching(/^usage: /) });
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("gives each program its secrets, keeps existing secrets, and removes secrets that a program no longer uses", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-secrets-"));
    try {
      const [all, own, table] = ["all", "own", "table.json"].map((name) => path.join(folder, name)) as [
        string,
        string,
        string,
      ];
      const make = (programs: string): void => {
        execFileSync(process.execPath, [path.join(ROOT, "deploy/docker/make-secrets.mjs"), all, programs, own]);
      };
      make(path.join(ROOT, "deploy/programs.json"));
      const first = readFileSync(path.join(own, "gateway/fingerprint_key"), "utf8");
      for (const [program, uses] of PROGRAMS)
        expect(readdirSync(path.join(own, program)).map(variableOf).toSorted()).toEqual(generatedOf(uses));
      writeFileSync(table, JSON.stringify({ gateway: { secrets: ["fingerprint-key"] } }));
      make(table);
      expect(readdirSync(path.join(own, "gateway"))).toEqual(["fingerprint_key"]);
      expect(readFileSync(path.join(own, "gateway/fingerprint_key"), "utf8")).toBe(first);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
