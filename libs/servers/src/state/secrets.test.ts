import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { generateSecrets, keptSecrets, type Secrets } from "./secrets.ts";

describe("the secrets of a state folder", () => {
  it("are generated once, kept, and readable only by their owner", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-secrets-"));
    const first = keptSecrets(folder);
    expect(keptSecrets(folder)).toEqual(first);
    expect(statSync(path.join(folder, "secrets.json")).mode & 0o777).toBe(0o600);
    rmSync(folder, { recursive: true });
  });

  it("that an earlier version generated are kept, and missing secrets are added", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-secrets-"));
    const {
      webhookSealingKeys: _one,
      serviceTokens: _two,
      tradingServerSealingKeys: _three,
      evidenceSigningKeys: _four,
      consoleSealingKeys: _five,
      ...earlier
    } = keptSecrets(folder);
    for (const serviceTokens of [undefined, { gateway: "gateway.kept", robot: "robot.of-another-version" }]) {
      writeFileSync(path.join(folder, "secrets.json"), JSON.stringify({ ...earlier, serviceTokens }));
      const secrets = keptSecrets(folder);
      expect(secrets).toMatchObject(earlier);
      expect(secrets.serviceTokens.console).toMatch(/^console\.[0-9a-f]{64}$/);
      if (serviceTokens !== undefined) expect(secrets.serviceTokens.gateway).toBe("gateway.kept");
    }
    const secrets = keptSecrets(folder);
    expect(keptSecrets(folder)).toEqual(secrets);
    rmSync(folder, { recursive: true });
  });

  it("that only another version uses stay in the file, because that version may be started again", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-secrets-"));
    const file = path.join(folder, "secrets.json");
    const { serviceTokens: _new, ...kept } = keptSecrets(folder);
    const earlier = { ...kept, internalToken: "shared by the services of an earlier version" };
    writeFileSync(file, JSON.stringify(earlier));
    const secrets = keptSecrets(folder);
    expect(secrets).not.toHaveProperty("internalToken");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ...earlier, serviceTokens: secrets.serviceTokens });
    rmSync(folder, { recursive: true });
  });

  it("are different each time they are generated", () => {
    const valuesOf = ({ serviceTokens, ...secrets }: Secrets): string[] =>
      Object.values(secrets).concat(Object.values(serviceTokens));
    const all = valuesOf(generateSecrets()).concat(valuesOf(generateSecrets()));
    expect(new Set(all).size).toBe(all.length);
  });
});
