import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { ConfigError, type Environment, loadConfig } from "./config.ts";
import { connectionFields } from "./connection-fields.ts";

const schema = z.object({ ...connectionFields.kafka, ...connectionFields.redis, ...connectionFields.postgres });
const PLAIN = { KAFKA_BROKERS: "kafka:9092", REDIS_URL: "redis://redis", POSTGRES_URL: "postgres://kapi@db/kapi" };
const OTHER_KEY = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
  type: "pkcs8",
  format: "pem",
});

let folder: string;
let certificate: string;
let key: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-connections-"));
  const [keyFile, certificateFile] = [path.join(folder, "key"), path.join(folder, "certificate")];
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", keyFile];
  execFileSync("openssl", ["req", "-x509", ...newKey, "-subj", "/CN=kapi", "-out", certificateFile], {
    stdio: "ignore",
  });
  certificate = readFileSync(certificateFile, "utf8");
  key = readFileSync(keyFile, "utf8");
});
afterAll(() => rmSync(folder, { recursive: true }));

function problemsOf(env: Environment): readonly string[] {
  try {
    loadConfig(schema, { ...PLAIN, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("the settings of the servers", () => {
  it("need only the addresses; without other settings, connections have no TLS and no sign-in", () => {
    expect(loadConfig(schema, PLAIN)).toEqual({
      KAFKA_BROKERS: ["kafka:9092"],
      KAFKA_TOPIC_PREFIX: "",
      KAFKA_TLS: "off",
      REDIS_URL: ["redis://redis"],
      REDIS_CLUSTER: "off",
      POSTGRES_URL: "postgres://kapi@db/kapi",
    });
  });

  it("read certificates, keys and passwords from mounted files", () => {
    const passwordFile = path.join(folder, "password");
    writeFileSync(passwordFile, "of Kafka\n");
    const config = loadConfig(schema, {
      ...PLAIN,
      KAFKA_TLS: "on",
      KAFKA_TLS_CA_FILE: path.join(folder, "certificate"),
      KAFKA_TLS_CERTIFICATE_FILE: path.join(folder, "certificate"),
      KAFKA_TLS_KEY_FILE: path.join(folder, "key"),
      KAFKA_SASL_MECHANISM: "SCRAM-SHA-512",
      KAFKA_SASL_USERNAME: "kapi",
      KAFKA_SASL_PASSWORD_FILE: passwordFile,
    });
    const texts = { KAFKA_TLS_CA: certificate.trim(), KAFKA_TLS_KEY: key.trim(), KAFKA_SASL_PASSWORD: "of Kafka" };
    expect(config).toMatchObject(texts);
  });

  it("reject incomplete TLS and sign-in settings, which would leave a connection unprotected", () => {
    expect(problemsOf({ KAFKA_TLS_CA: certificate })).toEqual(["KAFKA_TLS_CA: needs KAFKA_TLS=on"]);
    expect(problemsOf({ KAFKA_TLS: "on", KAFKA_TLS_CERTIFICATE: certificate })).toEqual([
      "KAFKA_TLS_CERTIFICATE: needs KAFKA_TLS_KEY",
    ]);
    expect(problemsOf({ KAFKA_SASL_MECHANISM: "PLAIN", KAFKA_SASL_USERNAME: "kapi" })).toEqual([
      "KAFKA_SASL_MECHANISM: needs KAFKA_SASL_PASSWORD",
    ]);
    expect(problemsOf({ KAFKA_SASL_USERNAME: "kapi", KAFKA_SASL_PASSWORD: "secret" })).toEqual([
      "KAFKA_SASL_USERNAME: needs KAFKA_SASL_MECHANISM",
      "KAFKA_SASL_PASSWORD: needs KAFKA_SASL_MECHANISM",
    ]);
    expect(problemsOf({ REDIS_TLS_CA: certificate })).toEqual(["REDIS_TLS_CA: needs rediss:// in REDIS_URL"]);
    for (const POSTGRES_URL of ["postgres://kapi@db/kapi", "postgres://kapi@db/kapi?sslmode=disable"]) {
      expect(problemsOf({ POSTGRES_URL, POSTGRES_TLS_CA: certificate })).toEqual([
        "POSTGRES_TLS_CA: needs sslmode=verify-full in POSTGRES_URL",
      ]);
    }
  });

  it("accept PostgreSQL with verified TLS or without TLS, and reject TLS without verification", () => {
    const problemOf = (query: string) => problemsOf({ POSTGRES_URL: `postgres://kapi@db/kapi${query}` });
    for (const query of ["", "?sslmode=disable", "?application_name=kapi&sslmode=verify-full"]) {
      expect(problemOf(query)).toEqual([]);
    }
    const refused = ["no-verify", "require", "prefer", "verify-ca", "NO-VERIFY"].map((mode) => `?sslmode=${mode}`);
    for (const query of [...refused, "?sslmode=verify-full&sslmode=no-verify", "?ssl=no-verify", "?ssl=true"]) {
      expect(problemOf(query)).toEqual([
        "POSTGRES_URL: must not have ssl, and its sslmode must be verify-full, disable or absent",
      ]);
    }
  });

  it("reject an invalid certificate, an invalid key, and the key of another certificate", () => {
    const tls = { KAFKA_TLS: "on", KAFKA_TLS_CERTIFICATE: certificate, KAFKA_TLS_KEY: key };
    expect(problemsOf(tls)).toEqual([]);
    expect(problemsOf({ ...tls, KAFKA_TLS_KEY: String(OTHER_KEY) })).toEqual([
      "KAFKA_TLS_KEY: is not the key of KAFKA_TLS_CERTIFICATE",
    ]);
    expect(problemsOf({ ...tls, KAFKA_TLS_CA: key, KAFKA_TLS_KEY: certificate })).toEqual([
      "KAFKA_TLS_CA: must be one or more certificates in PEM form",
      "KAFKA_TLS_KEY: must be a private key in PEM form, without a password",
    ]);
    const broken = certificate.replace(/\n(.{20})/, "\nAAAA$1");
    expect(problemsOf({ KAFKA_TLS: "on", KAFKA_TLS_CA: certificate + broken })).toHaveLength(1);
    expect(problemsOf({ KAFKA_TLS: "on", KAFKA_TLS_CA: certificate + certificate })).toEqual([]);
  });

  it("report an unreadable file, and not that its variable is missing", () => {
    const env = { KAFKA_SASL_MECHANISM: "PLAIN", KAFKA_SASL_USERNAME: "kapi", KAFKA_SASL_PASSWORD_FILE: "/nowhere" };
    expect(problemsOf(env)).toEqual(["KAFKA_SASL_PASSWORD_FILE: the file /nowhere cannot be read (ENOENT)"]);
  });

  it("accept several addresses only for a Redis Cluster; passwords may contain commas", () => {
    const REDIS_URL = "rediss://:a,b@one:6379, rediss://:a,b@two:6379/";
    const config = loadConfig(schema, { ...PLAIN, REDIS_URL, REDIS_CLUSTER: "on" });
    expect(config.REDIS_URL).toEqual(["rediss://:a,b@one:6379", "rediss://:a,b@two:6379"]);
    expect(problemsOf({ REDIS_URL })).toEqual(["REDIS_URL: may be several addresses only with REDIS_CLUSTER=on"]);
    expect(
      problemsOf({ REDIS_URL: "rediss://one,redis://two", REDIS_CLUSTER: "on", REDIS_TLS_CA: certificate }),
    ).toEqual(["REDIS_TLS_CA: needs rediss:// in REDIS_URL"]);
    expect(problemsOf({ REDIS_URL: "redis.example.com:6379" })).toEqual([
      "REDIS_URL: must be a URL beginning with redis:// or rediss://",
    ]);
  });
});
