/**
 * docs/reference/settings.md: every variable of every service. Names, defaults and allowed values
 * come from the schemas, as `loadConfig` reads the schemas. Meanings come from the comments above
 * the fields.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { ConfigError, connectionFields, loadConfig, MigrationSchema, ProcessSchema } from "@kapi/runtime";
import { z } from "zod";

import { anchorsOf } from "./citations.ts";
import { filesBelow } from "./files.ts";

const RUNTIME = "libs/runtime/src";
const DECISIONS = "docs/decisions";
/** Libraries that run only on a developer's machine. */
const MACHINE_ONLY = /^libs\/(servers|testkit)\//;

/**
 * Variables that the code reads without a schema, with their meanings. A test compares them with
 * `outsideVariables`.
 */
export const OUTSIDE_SCHEMAS: Readonly<Record<string, string>> = {
  FAULT_POINT: "For tests: the name of the point at which the process kills itself.",
  FAULT_POINT_AFTER: "For tests: the number of times that the process passes FAULT_POINT before it kills itself there.",
  OTEL_EXPORTER_OTLP_ENDPOINT: "Turns traces on: the address of the collector, by OTLP over HTTP.",
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "Turns traces on: the address of the collector for traces only.",
  OTEL_SDK_DISABLED: "`true` turns traces and metrics off.",
  OTEL_SERVICE_NAME: "The name of the service in traces; by default the name of the program.",
  OTEL_TRACES_EXPORTER: "Turns traces on: the name of an exporter of OpenTelemetry; `none` turns traces off.",
  OTEL_TRACES_SAMPLER:
    "Which traces are recorded: `always_on`, `always_off` or `traceidratio`, or one with the prefix `parentbased_`; " +
    "by default `parentbased_always_on`.",
  OTEL_TRACES_SAMPLER_ARG: "The recorded share for `traceidratio`, from 0 to 1; by default 1.",
};

/** The groups of fields that services share, in the order of the page. */
const GROUPS = {
  Kafka: connectionFields.kafka,
  PostgreSQL: connectionFields.postgres,
  Redis: connectionFields.redis,
  "Trading servers": connectionFields.tradingServers,
} as const;

/**
 * Values that most fields reject: a text that is not a number, address or key; a low number; a long
 * text. The error messages give the allowed values.
 */
const REFUSED_VALUES = ["\0", "1", "\0".repeat(10_000)];

/** One row of a table. */
export interface Setting {
  readonly name: string;
  /** The default, as text in the environment. Null: required. Undefined: optional, no default. */
  readonly fallback: string | null | undefined;
  readonly allowed: string;
  readonly meaning: string;
}

/** The settings of one schema, and their faults. */
export interface SettingsOf {
  readonly settings: readonly Setting[];
  readonly faults: readonly string[];
}

/** A section of the page. */
interface Section extends SettingsOf {
  readonly title: string;
  readonly introduction: string;
}

/** The settings of a schema, with the comments in `text`. */
export function settingsOf(
  shape: Readonly<Record<string, z.ZodType>>,
  text: string,
  shared: SharedComments = new Map(),
): SettingsOf {
  const faults: string[] = [];
  const settings = Object.entries(shape).map(([name, field]) => {
    const { allowed, needs, unclear } = allowedValues(name, field);
    const comment = commentOf(name, text, shared);
    if (comment === null) faults.push(`${name}: has no comment that says what it means`);
    else if (comment.includes("{@link"))
      faults.push(`${name}: its comment has {@link}, which docs/reference/settings.md cannot show`);
    for (const message of unclear) faults.push(`${name}: the message "${message}" does not begin with must or needs`);
    const meaning = [comment ?? "", ...needs.map((need) => `Needs ${need}.`)].join(" ");
    return { name, fallback: fallbackOf(name, field), allowed, meaning };
  });
  return { settings, faults };
}

/** Meanings of variables that use a field of `configFields`, by field and variable. */
type SharedComments = ReadonlyMap<string, ReadonlyMap<string, string>>;

const COMMENT = String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/\s*`;
const NAMED = /^((?:[A-Z][A-Z0-9_]+(?:, | and )?)+): (.+)$/;

/** The comment above a field, or the comment for this variable in `configFields`. */
function commentOf(name: string, text: string, shared: SharedComments): string | null {
  const found = new RegExp(String.raw`(?:${COMMENT})?^[ \t]+${name}:(.*)$`, "m").exec(text);
  const [, comment, value = ""] = found ?? [];
  if (comment !== undefined) return plainText(comment);
  const field = /\bconfigFields\.(\w+)/.exec(value)?.[1] ?? "";
  return shared.get(field)?.get(name) ?? null;
}

/** The comments in the text of `libs/runtime/src/config-fields.ts`, as {@link SharedComments}. */
export function sharedComments(text: string): SharedComments {
  const fields = text.matchAll(new RegExp(String.raw`${COMMENT}^  (\w+)[:,]`, "gm"));
  return new Map(
    Array.from(fields, ([, comment = "", field = ""]) => {
      const [, names = "", meaning = ""] = NAMED.exec(plainText(comment)) ?? [];
      return [field, new Map(names.split(/, | and /).map((name) => [name, meaning]))] as const;
    }),
  );
}

function plainText(comment: string): string {
  return comment
    .split("\n")
    .map((line) => line.replace(/^\s*\*? ?/, "").trim())
    .join(" ")
    .trim();
}

/** The allowed values of a field, from its error messages. */
function allowedValues(
  name: string,
  field: z.ZodType,
): { readonly allowed: string; readonly needs: readonly string[]; readonly unclear: readonly string[] } {
  const messages = [...new Set(REFUSED_VALUES.flatMap((value) => problemsOf(name, field, value)))];
  const startingWith = (word: RegExp): string[] =>
    messages.filter((message) => word.test(message)).map((message) => message.replace(word, ""));
  const musts = startingWith(/^must (be |have )?/);
  return {
    allowed: musts.length === 0 ? "any text" : musts.join("; "),
    needs: startingWith(/^needs /),
    unclear: messages.filter((message) => !/^(must|needs) /.test(message)),
  };
}

/** The default of the variable, as text in the environment. */
function fallbackOf(name: string, field: z.ZodType): string | null | undefined {
  try {
    const value = loadConfig(z.object({ [name]: field }), {})[name];
    if (value === undefined || typeof value === "string") return value;
    return Array.isArray(value) ? value.join(",") : JSON.stringify(value);
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

function problemsOf(name: string, field: z.ZodType, value: string): string[] {
  try {
    loadConfig(z.object({ [name]: field }), { [name]: value });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => problem.replace(`${name}: `, ""));
  }
}

/** The services with a program. */
export function servicesBelow(root: string): string[] {
  return readdirSync(path.join(root, "services"))
    .filter((name) => existsSync(path.join(root, "services", name, "src", "main.ts")))
    .toSorted();
}

/** The sections of the page. The shared sections are first. */
export async function sectionsOf(root: string): Promise<Section[]> {
  const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
  const shared = sharedComments(read(`${RUNTIME}/config-fields.ts`));
  const connections = read(`${RUNTIME}/connection-fields.ts`);
  const main = read(`${RUNTIME}/main.ts`);
  const groups = Object.entries(GROUPS).map(([title, fields]) => {
    const introduction =
      title === "Trading servers" ? "" : "[External servers](../external-servers.md) explains these settings.";
    return sectionOf(title, introduction, settingsOf(fields, connections, shared));
  });
  const services = servicesBelow(root).map(async (service) => {
    const file = `services/${service}/src/config.ts`;
    const { ConfigSchema } = (await import(pathToFileURL(path.join(root, file)).href)) as {
      readonly ConfigSchema: z.ZodObject;
    };
    return serviceSection(service, ConfigSchema.shape, read(file), shared);
  });
  return [
    {
      title: "Every process",
      introduction: "Every service has these settings.",
      ...settingsOf(ProcessSchema.shape, main, shared),
    },
    {
      title: "Migrations",
      introduction:
        "A service that is started with the argument `migrate` has this setting, `LOG_LEVEL` of\n" +
        "[every process](#every-process), and the settings of [PostgreSQL](#postgresql). It uses no other settings.",
      ...settingsOf(without(MigrationSchema.shape, connectionFields.postgres), main, shared),
    },
    ...groups,
    ...(await Promise.all(services)),
  ];
}

/** The section of a service: its settings that are in no group, and links to its groups. */
function serviceSection(
  service: string,
  shape: Readonly<Record<string, z.ZodType>>,
  text: string,
  shared: SharedComments,
): Section {
  const groups = Object.entries(GROUPS).filter(([, fields]) => isWithin(fields, shape));
  const links = ["Every process", ...groups.map(([title]) => title)].map((title) => `[${title}](#${anchorOf(title)})`);
  const own = Object.values(GROUPS).reduce((rest, fields) => without(rest, fields), shape);
  const introduction = `[README](../../services/${service}/README.md).\nAlso: ${links.join(", ")}.`;
  return sectionOf(service, introduction, settingsOf(own, text, shared));
}

function sectionOf(title: string, introduction: string, { settings, faults }: SettingsOf): Section {
  return { title, introduction, settings, faults };
}

type Shape = Readonly<Record<string, z.ZodType>>;

function isWithin(fields: Shape, shape: Shape): boolean {
  return Object.entries(fields).every(([name, field]) => shape[name] === field);
}

/** The fields of a shape that are not identical to fields of the group. */
function without(shape: Shape, group: Shape): Shape {
  return Object.fromEntries(Object.entries(shape).filter(([name, field]) => group[name] !== field));
}

/** Variables that libraries and services read from the environment without a schema. */
export function outsideVariables(root: string, inSchemas: ReadonlySet<string>): string[] {
  const files = filesBelow(root).filter(
    (file) => /^(libs|services)\/[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file) && !MACHINE_ONLY.test(file),
  );
  const names = files.flatMap((file) =>
    Array.from(
      readFileSync(path.join(root, file), "utf8").matchAll(/\benv\["([A-Z][A-Z0-9_]*)"\]|"(OTEL_[A-Z_]+)"/g),
      ([, read, named]) => read ?? named ?? "",
    ),
  );
  return [...new Set(names)].filter((name) => !inSchemas.has(name)).toSorted();
}

/** Files that read an environment with a schema. */
export function schemaReaders(root: string): string[] {
  return filesBelow(root).filter(
    (file) =>
      /^(libs|services)\/[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file) &&
      /(?<!function )\bloadConfig\(/.test(readFileSync(path.join(root, file), "utf8")),
  );
}

/** The text of the page. */
export function settingsPage(root: string, sections: readonly Section[]): string {
  const tables = sections.map(({ title, introduction, settings }) =>
    [`## ${title}`, introduction, table(root, settings)].filter((part) => part !== "").join("\n\n"),
  );
  const outside = Object.entries(OUTSIDE_SCHEMAS).map(([name, meaning]) => line([`\`${name}\``, inTable(meaning)]));
  const [everyProcess = "", ...others] = tables;
  return `# Settings

Every setting is an environment variable. A service reads its settings at its start. If a setting is wrong, the service
prints a line for each problem and ends with exit code 1. An empty variable counts as not set. If \`X\` is not set,
\`X_FILE\` may name a file with the value of \`X\`, such as a mounted secret. White space around the value in the file is
removed.

\`npm run settings-reference\` makes this page from the schemas and comments in \`services/*/src/config.ts\` and
\`libs/runtime/src\`. A test compares the page with these sources. Other settings:

- [npm start](../../deploy/local/README.md#settings)
- [the job that creates topics](../../deploy/kafka/src/main.ts)
- [the operator's command line](../operator-command-line.md)
- [the chart](../../deploy/helm/kapi/values.yaml)
- [tests and scenarios](../testing.md)

${everyProcess}

A process also reads these variables, without a schema. Other variables of OpenTelemetry work as its documentation says
(see [telemetry](../../libs/runtime/README.md#telemetry)).

${[line(["variable", "meaning"]), line(["---", "---"]), ...outside].join("\n")}

${others.join("\n\n")}
`;
}

function table(root: string, settings: readonly Setting[]): string {
  const rows = settings.map(({ name, fallback, allowed, meaning }) =>
    line([`\`${name}\``, shownFallback(root, fallback), inTable(allowed), inTable(sentence(linked(root, meaning)))]),
  );
  const header = ["variable", "default", "allowed values", "meaning"];
  return [line(header), line(header.map(() => "---")), ...rows].join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** Paths of the checkout begin with `…`, because its folder differs between machines. */
function shownFallback(root: string, fallback: string | null | undefined): string {
  if (fallback === null) return "required";
  if (fallback === undefined) return "none";
  return fallback === "" ? "empty" : `\`${fallback.replace(root, "…")}\``;
}

function sentence(text: string): string {
  const [first = ""] = text;
  return first.toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

/** Escapes a text for a cell of a table: `|` everywhere, `<` only outside code. */
function inTable(text: string): string {
  const parts = text.split(/(`[^`]*`)/);
  return parts
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", String.raw`\<`)))
    .join("")
    .replaceAll("|", String.raw`\|`);
}

/** Links citations such as `(decisions, 5.2)` to their heading. */
function linked(root: string, text: string): string {
  return text.replaceAll(/\(decisions, (\d+)(\.\d+)?\)/g, (_, section: string, part: string | undefined) => {
    const records = readdirSync(path.join(root, DECISIONS));
    const file = records.find((name) => name.startsWith(`${section.padStart(2, "0")}-`)) ?? "";
    const anchors = [...anchorsOf(readFileSync(path.join(root, DECISIONS, file), "utf8"))];
    const anchor = anchors.find((one) => part !== undefined && one.startsWith(`${section}${part.slice(1)}-`));
    const target = `../decisions/${file}${anchor === undefined ? "" : `#${anchor}`}`;
    return `([decisions, ${section}${part ?? ""}](${target}))`;
  });
}

function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}
