/**
 * The secrets, servers and other services of each program, from its settings, Docker Compose and
 * the docs.
 */
import { z } from "zod";

/**
 * What a program uses, in deploy/programs.json. The chart, `npm start` and Docker Compose give the
 * program only these secrets and addresses.
 */
const Uses = z.strictObject({
  servers: z.array(z.enum(["kafka", "postgres", "redis"])),
  /** The PostgreSQL schema, if its name differs from the program. */
  schema: z.string().optional(),
  /** Names of secrets, as in the chart. The variable of fingerprint-key is FINGERPRINT_KEY. */
  secrets: z.array(z.string()),
  /** Secrets that the program needs only while processes of the previous release run. */
  upgradeSecrets: z.array(z.string()).default([]),
  /** Secrets that an operator may leave out. */
  optionalSecrets: z.array(z.string()).default([]),
  /** Secrets of other systems, which only an operator can give: nothing generates them. */
  givenSecrets: z.array(z.string()).default([]),
  /** Services that the program calls. */
  calls: z.array(z.string()),
  /**
   * Addresses outside kapi that the program reaches. `services.<name>.egress` of the chart adds
   * further ones, such as a mail server.
   */
  outside: z.array(z.enum(["trading-servers", "internet"])).default([]),
});
export type Uses = z.output<typeof Uses>;

export type Programs = ReadonlyMap<string, Uses>;

/** The programs in the text of deploy/programs.json, by name; throws if it has unknown fields. */
export function readPrograms(text: string): Programs {
  return new Map(Object.entries(z.record(z.string(), Uses).parse(JSON.parse(text))));
}

/**
 * The variable of a secret: FINGERPRINT_KEY for fingerprint-key. For the name of a service, this
 * text with `_URL` is the variable of the service's address.
 */
export function variableOf(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}

/**
 * The servers, secrets and services of a program, found by the variables that it reads.
 * `secretVariables` are all variables with secrets, `services` the names of all services.
 */
export function usesOf(
  variables: readonly string[],
  secretVariables: ReadonlySet<string>,
  services: readonly string[],
): Pick<Uses, "servers" | "calls"> & { readonly secrets: string[] } {
  const servers = { kafka: "KAFKA_BROKERS", postgres: "POSTGRES_URL", redis: "REDIS_URL" } as const;
  const names = Object.keys(servers) as (keyof typeof servers)[];
  return {
    servers: names.filter((name) => variables.includes(servers[name])),
    secrets: variables.filter((variable) => secretVariables.has(variable)).toSorted(),
    calls: services.filter((name) => variables.includes(`${variableOf(name)}_URL`)).toSorted(),
  };
}

/** The variables and volumes of a program in Docker Compose. */
export function usesInCompose(compose: string, program: string): { readonly variables: string[]; volumes: string[] } {
  const [, block = ""] = new RegExp(`^ {2}${program}:\\n((?: {4}.*\\n)+)`, "m").exec(compose) ?? [];
  const [, environment = ""] = /^ {4}environment:\n((?: {6}.*\n)+)/m.exec(block) ?? [];
  const [, merged = ""] = /<<: \[(.*)\]/.exec(environment) ?? [];
  const shared = [...merged.matchAll(/\*([a-z]+)/g)].map(([, name = ""]) => blockOf(compose, `x-${name}: &${name}`));
  const variables = [...shared, environment].flatMap((text) =>
    Array.from(text.matchAll(/^ +([A-Z_]+): /gm), ([, variable = ""]) => variable.replace(/_FILE$/, "")),
  );
  const [, volumes = ""] = /^ {4}volumes: \[(.*)\]/m.exec(block) ?? [];
  return { variables, volumes: volumes === "" ? [] : volumes.split(", ") };
}

function blockOf(compose: string, title: string): string {
  const start = compose.indexOf(`\n${title}\n`);
  if (start < 0) throw new Error(`docker-compose.yml has no "${title}"`);
  return compose.slice(start + title.length + 2).split(/^(?! )/m)[0] ?? "";
}

/**
 * The variables of secrets by program, from the table _Secrets of each program_ in docs/operate.md.
 */
export function documentedSecrets(docs: string): ReadonlyMap<string, string[]> {
  const [, section = ""] = docs.split(/^## Secrets of each program$/m);
  const [table = ""] = section.split(/^## /m);
  const rows = table.matchAll(/^\| `([a-z-]+)` +\|([^|]*)\|/gm);
  return new Map(
    Array.from(rows, ([, program = "", cell = ""]) => [
      program,
      Array.from(cell.matchAll(/`([A-Z_]+)`/g), ([, variable = ""]) => variable),
    ]),
  );
}
