/**
 * What each program gets of secrets, servers and other services: by its settings, Docker Compose
 * and the docs.
 */
import { z } from "zod";

/**
 * What a program uses, as deploy/programs.json has it: the chart, `npm start` and Docker Compose
 * give it that alone.
 */
const Uses = z.strictObject({
  servers: z.array(z.enum(["kafka", "postgres", "redis"])),
  /** Its PostgreSQL schema, where that is not named after the program. */
  schema: z.string().optional(),
  /** Named as the keys of the chart's secret; the variable FINGERPRINT_KEY for fingerprint-key. */
  secrets: z.array(z.string()),
  /** Only while processes of the release before run beside these. */
  upgradeSecrets: z.array(z.string()).default([]),
  /** Given where somebody has them. */
  optionalSecrets: z.array(z.string()).default([]),
  calls: z.array(z.string()),
  /** What it reaches beside them; no other program does. */
  outside: z.array(z.enum(["trading-servers", "world"])).default([]),
});
export type Uses = z.output<typeof Uses>;

export type Programs = ReadonlyMap<string, Uses>;

export function readPrograms(text: string): Programs {
  return new Map(Object.entries(z.record(z.string(), Uses).parse(JSON.parse(text))));
}

/** The variable of a secret or, with `_URL`, of a service. */
export function variableOf(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}

/**
 * What the variables that a program reads say of what it uses. `secretVariables` are all that hold
 * a secret.
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

/** The same of a program in Docker Compose; `volumes` are the volumes that it has. */
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
 * The rows of the table of docs/operate.md under _Secrets of each program_: program, and the
 * secrets' variables.
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
