import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { describe, expect, it } from "vitest";
import { z } from "zod";

import { ConfigError, loadConfig } from "./config.ts";
import { configFields } from "./config-fields.ts";
import { connectionFields } from "./connection-fields.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");

function problemsOf(schema: z.ZodObject, env: Record<string, string | undefined>): readonly string[] {
  try {
    loadConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("configuration", () => {
  it("reports every problem at once, each with the name of its variable", () => {
    const schema = z.object({
      HTTP_PORT: configFields.httpPort,
      KAFKA_BROKERS: connectionFields.kafka.KAFKA_BROKERS,
      POSTGRES_URL: connectionFields.postgres.POSTGRES_URL,
      INTERNAL_TOKEN: configFields.internalToken,
      LOG_LEVEL: configFields.logLevel,
    });
    const problems = problemsOf(schema, {
      HTTP_PORT: "70000",
      KAFKA_BROKERS: "localhost",
      POSTGRES_URL: "mysql://localhost/kapi",
      LOG_LEVEL: "loud",
    });
    expect(problems).toEqual([
      "HTTP_PORT: must be a whole number from 0 to 65535",
      "KAFKA_BROKERS: must be host:port, several with commas",
      "POSTGRES_URL: must be a URL beginning with postgres:// or postgresql://",
      "INTERNAL_TOKEN: is required and not set",
      "LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent",
    ]);
  });

  it("never reports a value: it may be a secret", () => {
    const schema = z.object({ INTERNAL_TOKEN: configFields.internalToken, KEYS: configFields.keyring });
    const text = problemsOf(schema, { INTERNAL_TOKEN: "hunter2", KEYS: "k1:hunter3" }).join("\n");
    expect(text).toContain("INTERNAL_TOKEN");
    expect(text).not.toContain("hunter");
  });

  it("treats an empty variable as not set", () => {
    const schema = z.object({ HTTP_HOST: configFields.httpHost, HTTP_PORT: configFields.httpPort });
    expect(loadConfig(schema, { HTTP_HOST: "", HTTP_PORT: "8080" })).toEqual({
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: 8080,
    });
    expect(problemsOf(schema, { HTTP_PORT: "" })).toEqual(["HTTP_PORT: is required and not set"]);
  });

  it("reads a value from the file that the variable with _FILE names, as for mounted secrets", () => {
    const schema = z.object({ INTERNAL_TOKEN: configFields.internalToken, ...connectionFields.postgres });
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-config-"));
    const file = path.join(folder, "token");
    writeFileSync(file, "a token from a mounted file\n");
    const env = { INTERNAL_TOKEN_FILE: file, POSTGRES_URL: "postgres://kapi@localhost/kapi" };
    expect(loadConfig(schema, env)["INTERNAL_TOKEN"]).toBe("a token from a mounted file");
    expect(loadConfig(schema, { ...env, INTERNAL_TOKEN: "a token of the environment" })["INTERNAL_TOKEN"]).toBe(
      "a token of the environment",
    );
    rmSync(folder, { recursive: true });
    expect(problemsOf(schema, { INTERNAL_TOKEN_FILE: file })).toEqual([
      `INTERNAL_TOKEN_FILE: the file ${file} cannot be read (ENOENT)`,
      "POSTGRES_URL: is required and not set",
    ]);
  });

  it("is frozen and has only the variables of the schema", () => {
    const schema = z.object({ KAFKA_BROKERS: connectionFields.kafka.KAFKA_BROKERS });
    const config = loadConfig(schema, { KAFKA_BROKERS: "a:9092, b:9093", HOME: "/root" });
    expect(config).toEqual({ KAFKA_BROKERS: ["a:9092", "b:9093"] });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.KAFKA_BROKERS)).toBe(true);
  });

  it("reads the digests of callers' tokens; a caller has two digests while its token changes", () => {
    const schema = z.object({ DIGESTS: configFields.serviceTokenDigests });
    const [one, other] = ["0".repeat(64), "f".repeat(64)];
    const { DIGESTS: digests } = loadConfig(schema, { DIGESTS: `gateway:${one}, operator:${one},gateway:${other}` });
    expect(digests.get("gateway")?.map((digest) => digest.toString("hex"))).toEqual([one, other]);
    expect(digests.get("operator")).toHaveLength(1);
    for (const wrong of ["gateway", `gateway:${one}0`, `:${one}`, `gateway:${one},`, `gateway:${"g".repeat(64)}`])
      expect(problemsOf(schema, { DIGESTS: wrong })).toHaveLength(1);
  });

  it("rejects a service token without a name or with a short secret", () => {
    const schema = z.object({ TOKEN: configFields.serviceToken });
    expect(problemsOf(schema, { TOKEN: `gateway.${"x".repeat(32)}` })).toEqual([]);
    for (const wrong of ["x".repeat(40), `gateway.${"x".repeat(31)}`, `.${"x".repeat(32)}`, `a b.${"x".repeat(32)}`])
      expect(problemsOf(schema, { TOKEN: wrong })).toHaveLength(1);
  });

  it("reads a keyring and uses its first key", () => {
    const schema = z.object({ KEYS: configFields.keyring });
    const { KEYS } = loadConfig(schema, { KEYS: `new:${KEY},old:${KEY}` });
    expect(KEYS.currentKeyId).toBe("new");
    expect([...KEYS.keys.keys()]).toEqual(["new", "old"]);
    expect(KEYS.keys.get("old")).toEqual(Buffer.alloc(32, 7));
  });

  it.each(["", "a", `a:${KEY},a:${KEY}`, "a:AAAA", `:${KEY}`, `a:${KEY},`, `a:${KEY}:b`])(
    "rejects the keyring %j",
    (text) => {
      expect(problemsOf(z.object({ KEYS: configFields.keyring }), { KEYS: text })).toHaveLength(1);
    },
  );

  it("reads retired public keys with the time of their retirement", () => {
    const schema = z.object({ KEYS: configFields.retiredKeys.optional() });
    const publicKey = Buffer.alloc(32, 7).toString("base64url");
    const text = `2026-11:${publicKey}:2027-01-31T12:00:00Z, 2026-10:${publicKey}:2026-11-30T00:00:00.500Z`;
    expect(loadConfig(schema, { KEYS: text }).KEYS).toEqual([
      { keyId: "2026-11", publicKey: Buffer.alloc(32, 7), retiredAt: "2027-01-31T12:00:00.000Z" },
      { keyId: "2026-10", publicKey: Buffer.alloc(32, 7), retiredAt: "2026-11-30T00:00:00.500Z" },
    ]);
    const time = "2027-01-31T12:00:00Z";
    for (const wrong of [
      `a:${publicKey}`,
      `a:AAAA:${time}`,
      `a:${publicKey}:2027-13-31T12:00:00Z`,
      `:${publicKey}:${time}`,
    ])
      expect(problemsOf(schema, { KEYS: wrong }), wrong).toHaveLength(1);
    expect(problemsOf(schema, { KEYS: `a:${publicKey}:${time},a:${publicKey}:${time}` })).toHaveLength(1);
  });

  it.each(["1.5", "0x10", "1e3", " 1", "-1", "99999999999999999999"])("rejects the port %j", (text) => {
    expect(problemsOf(z.object({ HTTP_PORT: configFields.httpPort }), { HTTP_PORT: text })).toHaveLength(1);
  });
});
