import { z } from "zod";

/** The texts of the variables that were given, by their names. */
export type Given = Readonly<Record<string, string>>;

/**
 * Looks at a variable beside the others; null, or what is wrong, to be said after the variable's
 * name.
 */
export type CompanionCheck = (given: Given) => string | null;

const checks = z.registry<{ readonly check: CompanionCheck }>();

/**
 * `field`, with a check beside the other variables that `loadConfig` makes where the variable is
 * given. A field has it wherever it is used, which a refinement of a whole schema would not.
 */
export function alongside<F extends z.ZodType>(field: F, check: CompanionCheck): F {
  checks.add(field, { check });
  return field;
}

/** Asks for variables ("KAFKA_TLS_KEY"), or for certain values of theirs ("KAFKA_TLS=on"). */
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
 * The problems that the checks of the given variables find, each beginning with the variable's
 * name.
 */
export function companionProblems(schema: z.ZodObject, given: Given): string[] {
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) => {
    const problem = given[name] === undefined ? null : (checks.get(field as z.ZodType)?.check(given) ?? null);
    return problem === null ? [] : [`${name}: ${problem}`];
  });
}
