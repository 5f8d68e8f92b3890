import { CommandLineError, EXIT_CODES } from "@kapi/client/cli";
import { ORGANIZATION_ROUTES, type Scope, SCOPES } from "@kapi/contracts";
import { type Command, InvalidArgumentError } from "commander";

import { addCommand, type CommandContext, several, type PrintOptions } from "../context.ts";
import { fields, table } from "../output.ts";

const HOUR_MS = 3_600_000;
const UNITS_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS };
const RATE_LIMIT = /^(\d+(?:\.\d+)?)(?::(\d+))?$/;

interface OfOrganization extends PrintOptions {
  readonly organization: string;
}
interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}
interface CreateOptions extends OfOrganization {
  readonly name?: string;
  /** Unchecked: the service rejects an unknown scope. */
  readonly scope?: readonly Scope[];
  readonly allScopes?: true;
  readonly server?: readonly string[];
  readonly expires?: string;
  readonly rateLimit?: RateLimit;
  readonly allow?: readonly string[];
}

/** `kapi admin key create|list|revoke` */
export function addKey(program: Command, context: CommandContext): void {
  const key = program.command("key").description("Management keys");
  addCommand(key, "create", "Create a management key; it is shown once")
    .requiredOption("--organization <id>", "the organization")
    .option("--name <name>", "name of the key in the console")
    .option("--scope <scopes>", `scopes of the key, separated by commas: ${SCOPES.join(", ")}`, several)
    .option("--all-scopes", "the key has all scopes")
    .option("--server <ids>", "the servers that the key reaches, separated by commas (default: all)", several)
    .option(
      "--expires <when>",
      "a time such as 2027-01-31T00:00:00Z, or a lifetime such as 12h or 30d (default: never expires)",
    )
    .option(
      "--allow <networks>",
      "addresses or networks that may use the key, separated by commas (default: any)",
      several,
    )
    .option(
      "--rate-limit <requests>",
      "requests per second, such as 10, or with a burst, such as 10:50 (default: no limit; default burst: the requests of one second)",
      rateLimit,
    )
    .action((options: CreateOptions) => create(context, options));
  addCommand(key, "list", "List the keys of an organization")
    .requiredOption("--organization <id>", "the organization")
    .action((options: OfOrganization) => list(context, options));
  addCommand(key, "revoke", "Revoke a key forever; every process rejects it within two seconds")
    .argument("<key id>", "the second part of the key: kapi.<key id>.<secret>")
    .action((keyId: string, options: PrintOptions) => revoke(context, keyId, options));
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { organization, name, server, allow, rateLimit: limit } = options;
  const body = {
    ...(name === undefined ? {} : { name }),
    scopes: scopesOf(options),
    serverIds: server ?? null,
    expiresAt: options.expires === undefined ? null : expiry(options.expires, context.nowMs()),
    rateLimit: limit ?? null,
    allowedNetworks: allow ?? null,
  };
  const params = { organizationId: organization };
  const created = await context.operator("organization").call(ORGANIZATION_ROUTES.createKey, { params, body });
  context.print(options, created, ({ keyId, managementKey }) =>
    fields({ "key id": keyId, expires: body.expiresAt ?? "never", "management key (shown once)": managementKey }),
  );
}

async function list(context: CommandContext, options: OfOrganization): Promise<void> {
  const params = { organizationId: options.organization };
  const keys = await context.operator("organization").list(ORGANIZATION_ROUTES.listKeys, params, (page) => page.keys);
  context.print(options, keys, (rows) =>
    table(rows, [
      { heading: "KEY", of: (row) => row.keyId },
      { heading: "NAME", of: (row) => row.name },
      { heading: "STATUS", of: (row) => row.status },
      { heading: "EXPIRES", of: (row) => row.expiresAt ?? "never" },
      { heading: "RATE LIMIT", of: ({ rateLimit: limit }) => (limit ? `${limit.perSecond}:${limit.burst}` : "none") },
      { heading: "NETWORKS", of: (row) => row.allowedNetworks?.join(",") ?? "any" },
      { heading: "SERVERS", of: (row) => row.serverIds?.join(",") ?? "all" },
      { heading: "SCOPES", of: (row) => (row.scopes.length === SCOPES.length ? "all" : row.scopes.join(",")) },
    ]),
  );
}

async function revoke(context: CommandContext, keyId: string, options: PrintOptions): Promise<void> {
  const revoked = await context.operator("organization").call(ORGANIZATION_ROUTES.revokeKey, { params: { keyId } });
  context.print(options, revoked, () => `${keyId} is revoked.\n`);
}

function scopesOf({ scope, allScopes }: CreateOptions): readonly Scope[] {
  if (allScopes === true && scope === undefined) return SCOPES;
  if (allScopes !== true && scope !== undefined) return scope;
  throw new CommandLineError("error: give either --scope or --all-scopes", EXIT_CODES.usage);
}

/** The given time, which the service validates; or the given hours or days from now. */
function expiry(text: string, nowMs: number): string {
  const [, count, unit = ""] = /^(\d{1,6})([hd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return count === undefined || unitMs === undefined ? text : new Date(nowMs + Number(count) * unitMs).toISOString();
}

function rateLimit(text: string): RateLimit {
  const [, perSecond, burst] = RATE_LIMIT.exec(text) ?? [];
  if (perSecond === undefined || Number(perSecond) === 0) {
    throw new InvalidArgumentError("It must be requests per second, such as 10, or with a burst, such as 10:50.");
  }
  return { perSecond: Number(perSecond), burst: Number(burst ?? Math.max(1, Math.ceil(Number(perSecond)))) };
}
