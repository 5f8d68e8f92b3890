import { z } from "zod";

/** The values of the variables that are set, by name. */
export type Given = Readonly<Record<string, string>>;

/**
 * Checks a variable against other variables. Returns null, or the problem without the variable's
 * name.
 */
export type CompanionCheck = (given: Given) => string | null;

const checks = z.registry<{ readonly check: CompanionCheck }>();

/**
 * Adds to `field` a check against the other variables. `loadConfig` runs the check if the variable
 * of the field is set. Unlike a refinement of a schema, the check applies in every schema that uses
 * the field.
 */
export function alongside<F extends z.ZodType>(field: F, check: CompanionCheck): F {
  checks.add(field, { check });
  return field;
}

/** Requires variables ("KAFKA_TLS_KEY"), or certain values of them ("KAFKA_TLS=on"). */
export function needs(...wanted: readonly string[]): CompanionCheck {
  return (given) => {
    const missing = wanted.filter((one) => {
      const [name = "", value] = one.split("=");
      return value === undefined ? given[name] === undefined : given[name] !== value;
    });
    return missing.length === 0 ? null : `needs ${missing.join(" and ")}`;
  };
}

/**
 * Runs the checks of the variables that are set. Returns the problems, each starting with the name
 * of its variable.
 */
export function companionProblems(schema: z.ZodObject, given: Given): string[] {
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) => {
    const problem = given[name] === undefined ? null : (checks.get(field as z.ZodType)?.check(given) ?? null);
    return problem === null ? [] : [`${name}: ${problem}`];
  });
}
