/**
 * make-secrets.mjs <folder> [<programs.json> <programs' folder>]: creates every secret that is not
 * in <folder> yet, for all programs, one file for each secret. With the other arguments, it also
 * creates in <programs' folder> one folder for each program of <programs.json>, with only the
 * secrets that the program uses. For Docker Compose.
 *
 * make-secrets.mjs --kubernetes <name>: prints new secrets as a Kubernetes Secret with that name,
 * in the entries that the Helm chart reads. Keep this output: without these secrets, sealed data
 * cannot be read.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const KEY_BYTES = 32;
/**
 * Mode of the files: services run as another user. Each service mounts only the volume with its own
 * secrets.
 */
const READABLE = 0o444;

const [, , folder, table, programsFolder] = process.argv;
const isOption = folder?.startsWith("-") === true;
if (folder === undefined || (isOption && (folder !== "--kubernetes" || table === undefined))) {
  const usage = `usage: make-secrets.mjs <folder> [<programs.json> <programs' folder>] | --kubernetes <name>\n`;
  const isHelp = folder === "--help" || folder === "-h";
  (isHelp ? process.stdout : process.stderr).write(usage);
  process.exit(isHelp ? 0 : 2);
}
const key = () => randomBytes(KEY_BYTES).toString("base64");
const token = () => randomBytes(KEY_BYTES).toString("hex");
/** The file of each caller's token, by the caller's name. A token starts with this name. */
const callers = new Map(
  ["gateway", "account", "export", "metrics", "organization", "console", "risk"].map((name) => [
    name,
    `service_token_${name}`,
  ]),
);
callers.set("operator", "operator_token");
const secrets = {
  ...Object.fromEntries(Array.from(callers, ([name, file]) => [file, () => `${name}.${token()}`])),
  trading_server_token: token,
  control_token: token,
  password_derivation_keys: () => `k1:${key()}`,
  password_sealing_keys: () => `k1:${key()}`,
  fingerprint_key: key,
  webhook_sealing_keys: () => `k1:${key()}`,
  evidence_signing_keys: () => `k1:${key()}`,
  trading_server_sealing_keys: () => `k1:${key()}`,
  console_sealing_keys: () => `k1:${key()}`,
};

/** With digests a service can authenticate its callers, but cannot impersonate them. */
function digestsOf(textOf) {
  const digests = Array.from(callers, ([name, file]) => {
    return `${name}:${createHash("sha256").update(textOf(file)).digest("hex")}`;
  });
  return digests.join(",");
}

if (folder === "--kubernetes") {
  const made = Object.fromEntries(Object.entries(secrets).map(([name, make]) => [name, make()]));
  const all = { ...made, service_token_digests: digestsOf((name) => made[name]) };
  const stringData = Object.fromEntries(Object.entries(all).map(([name, text]) => [name.replaceAll("_", "-"), text]));
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: table }, type: "Opaque", stringData };
  process.stdout.write(`${JSON.stringify(secret, null, 2)}\n`);
} else {
  mkdirSync(folder, { recursive: true });
  for (const [name, make] of Object.entries(secrets)) {
    const file = path.join(folder, name);
    if (!existsSync(file)) write(file, make());
  }
  const digests = digestsOf((name) => readFileSync(path.join(folder, name)));
  write(path.join(folder, "service_token_digests"), digests);
  if (table !== undefined && programsFolder !== undefined) writeProgramFolders(folder, table, programsFolder);
}

/** Replaces the file as a whole, so that no crash leaves an empty secret. */
function write(file, text) {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, text, { mode: READABLE, flush: true });
  renameSync(`${file}.new`, file);
}

function writeProgramFolders(all, programsFile, into) {
  const programs = JSON.parse(readFileSync(programsFile, "utf8"));
  for (const [program, uses] of Object.entries(programs)) {
    const own = path.join(into, program);
    mkdirSync(own, { recursive: true });
    // An earlier version may have given the program more secrets.
    for (const file of readdirSync(own)) rmSync(path.join(own, file));
    for (const secret of [...uses.secrets, ...(uses.optionalSecrets ?? [])]) {
      const name = secret.replaceAll("-", "_");
      const made = secret === "service-token" ? `${name}_${program.replaceAll("-", "_")}` : name;
      writeFileSync(path.join(own, name), readFileSync(path.join(all, made)), { mode: READABLE });
    }
  }
}
