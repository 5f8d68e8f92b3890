import type { z } from "zod";

/** A process's environment: what `process.env` holds. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration cannot be used; `problems` has one sentence per finding, each beginning with the variable's name. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.join("\n")}`);
    this.problems = problems;
  }
}

/**
 * Reads the variables that `schema` names from `env`, checks all of them and returns a frozen value with the same names.
 * A variable that is set to the empty text counts as not set. Others are ignored.
 * @throws ConfigError with every problem at once. No value is ever part of a problem: it may be a secret.
 */
export function loadConfig<S extends z.ZodObject>(schema: S, env: Environment): Readonly<z.output<S>> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = env[name];
    if (value !== undefined && value !== "") given[name] = value;
  }
  const result = schema.safeParse(given);
  if (!result.success) throw new ConfigError(problemsOf(result.error, given));
  for (const value of Object.values(result.data)) if (Array.isArray(value)) Object.freeze(value);
  return Object.freeze(result.data);
}

function problemsOf(error: z.ZodError, given: Readonly<Record<string, string>>): string[] {
  const problems = error.issues.map((issue) => {
    const name = String(issue.path[0] ?? "configuration");
    return `${name}: ${issue.path.length > 0 && given[name] === undefined ? "is required and not set" : issue.message}`;
  });
  return [...new Set(problems)];
}
