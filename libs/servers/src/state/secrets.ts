import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

import { type Caller, CALLERS } from "@kapi/contracts";
import { z } from "zod";

const SECRETS_FILE = "secrets.json";
const OWNER_ONLY = 0o600;
const KEY_BYTES = 32;

const Secrets = z.object({
  /** Part of the names of volumes, which belong to this state folder but are outside of it. */
  installation: z.uuid(),
  postgresPassword: z.string(),
  /** One token for each caller of internal operations. */
  serviceTokens: z.record(z.enum(CALLERS), z.string()),
  tradingServerToken: z.string(),
  passwordDerivationKeys: z.string(),
  passwordSealingKeys: z.string(),
  fingerprintKey: z.string(),
  webhookSealingKeys: z.string(),
  evidenceSigningKeys: z.string(),
  tradingServerSealingKeys: z.string(),
  consoleSealingKeys: z.string(),
});
export type Secrets = z.infer<typeof Secrets>;

/** Generates new secrets, in the format of the services' environment variables. */
export function generateSecrets(): Secrets {
  const key = (): string => randomBytes(KEY_BYTES).toString("base64");
  const token = (): string => randomBytes(KEY_BYTES).toString("hex");
  return {
    installation: randomUUID(),
    postgresPassword: token(),
    serviceTokens: Object.fromEntries(CALLERS.map((caller) => [caller, `${caller}.${token()}`])) as Record<
      Caller,
      string
    >,
    tradingServerToken: token(),
    passwordDerivationKeys: `k1:${key()}`,
    passwordSealingKeys: `k1:${key()}`,
    fingerprintKey: key(),
    webhookSealingKeys: `k1:${key()}`,
    evidenceSigningKeys: `k1:${key()}`,
    tradingServerSealingKeys: `k1:${key()}`,
    consoleSealingKeys: `k1:${key()}`,
  };
}

/** The secrets of a state folder, generated at the first start. Only their owner can read them. */
export function keptSecrets(stateDir: string): Secrets {
  const file = path.join(stateDir, SECRETS_FILE);
  const fresh = generateSecrets();
  if (!existsSync(file)) {
    mkdirSync(stateDir, { recursive: true });
    writePrivately(file, fresh);
    return fresh;
  }
  const kept = z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(file, "utf8")));
  // The file of an earlier version lacks some of these secrets and some tokens.
  const { webhookSealingKeys, evidenceSigningKeys, tradingServerSealingKeys, consoleSealingKeys } = fresh;
  const later = { webhookSealingKeys, evidenceSigningKeys, tradingServerSealingKeys, consoleSealingKeys };
  const keptTokens = z.record(z.string(), z.string()).default({}).parse(kept["serviceTokens"]);
  const serviceTokens = Object.fromEntries(
    CALLERS.map((caller) => [caller, keptTokens[caller] ?? fresh.serviceTokens[caller]]),
  );
  const secrets = Secrets.parse({ ...later, ...kept, serviceTokens });
  const wanted = [...Object.keys(later).map((name) => kept[name]), ...CALLERS.map((caller) => keptTokens[caller])];
  // Secrets that only another version uses stay in the file: that version may be started again.
  if (wanted.includes(undefined))
    writePrivately(file, { ...kept, ...secrets, serviceTokens: { ...keptTokens, ...secrets.serviceTokens } });
  return secrets;
}

/** SERVICE_TOKEN_DIGESTS of the called services: the SHA-256 of each caller's token. */
export function serviceTokenDigests({ serviceTokens }: Pick<Secrets, "serviceTokens">): string {
  return Object.entries(serviceTokens)
    .map(([caller, token]) => `${caller}:${createHash("sha256").update(token).digest("hex")}`)
    .join(",");
}

/** Writes JSON with secrets atomically. Only the owner can read the file. */
export function writePrivately(file: string, value: unknown): void {
  const fresh = `${file}.new`;
  writeFileSync(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: OWNER_ONLY });
  renameSync(fresh, file);
}
