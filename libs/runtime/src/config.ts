import { readFileSync } from "node:fs";

import type { z } from "zod";

import { companionProblems } from "./companions.ts";

/** The suffix of a variable that names a file with the value of another variable. */
export const FILE_SUFFIX = "_FILE";

/** The environment variables of a process, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The configuration is invalid. `problems` has one line for each problem, which starts with the
 * variable's name.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.join("\n")}`);
    this.problems = problems;
  }
}

/**
 * Reads the variables that `schema` names from `env`, checks all of them and returns a frozen value
 * with the same names. Other variables are ignored. An empty variable counts as not set. A value
 * can also be in a file: if INTERNAL_TOKEN is not set, INTERNAL_TOKEN_FILE names the file with its
 * value. White space around the text of the file is removed.
 * @throws ConfigError with every problem at once, without values: a value can be a secret. If a
 * file cannot be read, variables are not checked against each other.
 */
export function loadConfig<S extends z.ZodObject>(schema: S, env: Environment): Readonly<z.output<S>> {
  const given: Record<string, string> = {};
  const unreadable = new Map<string, string>();
  for (const name of Object.keys(schema.shape)) {
    const read = valueOf(name, env);
    if ("fault" in read) unreadable.set(name, read.fault);
    else if (read.value !== "") given[name] = read.value;
  }
  const result = schema.safeParse(given);
  const problems = result.success ? [...unreadable.values()] : problemsOf(result.error, given, unreadable);
  // These checks would report a variable with an unreadable file as missing.
  if (unreadable.size === 0) problems.push(...companionProblems(schema, given));
  if (!result.success || problems.length > 0) throw new ConfigError(problems);
  for (const value of Object.values(result.data)) if (Array.isArray(value)) Object.freeze(value);
  return Object.freeze(result.data);
}

/**
 * The value of a variable: from the environment, otherwise from the file that the variable with the
 * suffix _FILE names. The value is "" if neither variable is set. `fault`: the file cannot be read.
 */
function valueOf(name: string, env: Environment): { readonly value: string } | { readonly fault: string } {
  const value = env[name] ?? "";
  const variable = name + FILE_SUFFIX;
  const file = env[variable] ?? "";
  if (value !== "" || file === "") return { value };
  try {
    return { value: readFileSync(file, "utf8").trim() };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    return { fault: `${variable}: the file ${file} cannot be read (${code})` };
  }
}

/** The value of a variable as {@link loadConfig} reads it; "" if its file cannot be read. */
export function variableText(name: string, env: Environment): string {
  const read = valueOf(name, env);
  return "value" in read ? read.value : "";
}

function problemsOf(
  error: z.ZodError,
  given: Readonly<Record<string, string>>,
  unreadable: ReadonlyMap<string, string>,
): string[] {
  const problems = error.issues.map((issue) => {
    const name = String(issue.path[0] ?? "configuration");
    const missing = issue.path.length > 0 && given[name] === undefined;
    return unreadable.get(name) ?? `${name}: ${missing ? "is required and not set" : issue.message}`;
  });
  return [...new Set([...problems, ...unreadable.values()])];
}
