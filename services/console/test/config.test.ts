/** The settings of a console behind a proxy. */
import { ConfigError, loadConfig } from "@kapi/runtime";
import { describe, expect, it } from "vitest";

import { ConfigSchema } from "../src/config.ts";

const NEEDED = {
  HTTP_PORT: "8080",
  KAFKA_BROKERS: "kafka:9092",
  POSTGRES_URL: "postgres://kapi@db/kapi",
  REDIS_URL: "redis://redis",
  SERVICE_TOKEN: `console.${"x".repeat(32)}`,
  SERVICE_TOKEN_DIGESTS: `operator:${"0".repeat(64)}`,
  COMMAND_STATUS_URL: "http://command-status",
  CONSOLE_PORT: "8082",
  CONSOLE_API_URL: "https://api.example.com",
  ACCOUNT_URL: "http://account",
  FINANCE_URL: "http://finance",
  GATEWAY_URL: "http://gateway",
  METRICS_URL: "http://metrics",
  ORGANIZATION_URL: "http://organization",
  RISK_URL: "http://risk",
  WEBHOOKS_URL: "http://webhooks",
};

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(ConfigSchema, { ...NEEDED, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("a console", () => {
  it("behind a proxy does not start without the proxy's address: all people would share one address", () => {
    const problem = expect.stringMatching(/^CONSOLE_PORT: needs CONSOLE_TRUSTED_PROXIES.*CONSOLE_SECURE_COOKIES=off/);
    expect(problemsOf({})).toEqual([problem]);
    expect(problemsOf({ CONSOLE_SECURE_COOKIES: "on" })).toEqual([problem]);
    expect(problemsOf({ CONSOLE_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.7,fd00::/8" })).toEqual([]);
    expect(problemsOf({ CONSOLE_SECURE_COOKIES: "off" })).toEqual([]);
  });

  it.each(["proxy.example.com", "10.0.0.0/33", "0.0.0.0/0", "::/0", "10.0.0.1,", "10.0.0.1/x"])(
    "trusts only proxies that are IP addresses or networks, and never all addresses: %j is rejected",
    (proxies) => {
      expect(problemsOf({ CONSOLE_TRUSTED_PROXIES: proxies })).toEqual([
        "CONSOLE_TRUSTED_PROXIES: must be IP addresses or networks (10.0.0.0/8), separated by commas; no network may cover all addresses",
      ]);
    },
  );
});
