/**
 * Makes the secrets that the services share, one file each, in the folder given as the argument; what is there stays.
 * For the Compose file: elsewhere they come from the platform's own store.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const KEY_BYTES = 32;
/** The services run as another user than this program; nothing else can see the volume. */
const READABLE = 0o444;

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: make-secrets.mjs <folder>");
const key = () => randomBytes(KEY_BYTES).toString("base64");
const token = () => randomBytes(KEY_BYTES).toString("hex");
const secrets = {
  internal_token: token,
  trading_server_token: token,
  control_token: token,
  password_derivation_keys: () => `k1:${key()}`,
  password_sealing_keys: () => `k1:${key()}`,
  fingerprint_key: key,
  webhook_sealing_keys: () => `k1:${key()}`,
};
mkdirSync(folder, { recursive: true });
for (const [name, make] of Object.entries(secrets)) {
  const file = path.join(folder, name);
  if (!existsSync(file)) writeFileSync(file, make(), { mode: READABLE });
}
