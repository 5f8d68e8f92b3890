import { generateSecrets, serviceTokenDigests } from "@kapi/servers";
import { variablesOf } from "@kapi/runtime";
import { describe, expect, it } from "vitest";

import { combinedEnvironment, type PlanOptions, serviceEnvironment } from "./plan.ts";

const secrets = generateSecrets();
const options: PlanOptions = {
  servers: { kafkaBrokers: "127.0.0.1:1", postgresUrl: "postgres://p", redisUrl: "redis://r" },
  topicPrefix: "",
  secrets,
  ports: { of: (name) => name.length },
  base: {
    PATH: "/bin",
    LOG_LEVEL: "debug",
    MARKET_SEED: "7",
    INTERNAL_TOKEN: "of the shell",
    CONSOLE_SMTP_URL: "smtp://mail.example.com",
    CONSOLE_OIDC_CLIENT_SECRET_FILE: "/of/the/user",
    SERVICE_TOKEN_FILE: "/of/the/shell",
    KAFKA_TOPIC_PREFIX: "of-the-shell.",
  },
};

describe("the environment of a process with several services", () => {
  const services = ["gateway", "command-status", "console"];
  const environment = combinedEnvironment(services, options, { gateway: { USAGE_STREAM_LIMIT: "5" } });

  it.each(services)("gives %s the same variables as a process in which this service runs alone", (service) => {
    const alone = Object.entries(serviceEnvironment(service, options)).filter(([, value]) => value !== undefined);
    expect(variablesOf(service, environment)).toMatchObject(Object.fromEntries(alone));
  });

  it("has the variables of the shell except secrets, addresses and the topic prefix", () => {
    const unprefixed = Object.entries(environment).filter(
      ([name, value]) => value !== undefined && !name.includes("__"),
    );
    expect(Object.fromEntries(unprefixed)).toEqual({
      PATH: "/bin",
      LOG_LEVEL: "debug",
      MARKET_SEED: "7",
      SERVICES: "gateway,command-status,console",
    });
  });

  it("prefers a service's own file to the variable for all services", () => {
    const given = { SECRET: "shared", GATEWAY__SECRET_FILE: "/own", CONSOLE__SECRET: "own" };
    expect(variablesOf("gateway", given)).toMatchObject({ SECRET: undefined, SECRET_FILE: "/own" });
    expect(variablesOf("console", given)).toMatchObject({ SECRET: "own" });
    expect(variablesOf("finance", given)).toMatchObject({ SECRET: "shared" });
  });

  it("gives each service only its own token, and an extra variable only to the service that it is for", () => {
    expect(variablesOf("gateway", environment)["SERVICE_TOKEN"]).toBe(secrets.serviceTokens.gateway);
    expect(variablesOf("console", environment)["SERVICE_TOKEN"]).toBe(secrets.serviceTokens.console);
    expect(variablesOf("command-status", environment)["SERVICE_TOKEN"]).toBeUndefined();
    expect(variablesOf("command-status", environment)["SERVICE_TOKEN_DIGESTS"]).toBe(serviceTokenDigests(secrets));
    expect(variablesOf("gateway", environment)["USAGE_STREAM_LIMIT"]).toBe("5");
    expect(variablesOf("console", environment)["USAGE_STREAM_LIMIT"]).toBeUndefined();
  });
});
