/**
 * The common part of the TypeScript programs. Each program is copied beside the generated code, is
 * compiled with it, and calls a running kapi. It prints one line for each check.
 */

/** Time limit until the feed has the events of a final command. */
const DEADLINE_MS = 20_000;
const PAUSE_MS = 100;

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** The address of the running kapi, and the key and server for the programs. */
export const KAPI = {
  baseUrl: setting("KAPI_URL"),
  authorization: `Management ${setting("KAPI_KEY")}`,
  serverId: setting("KAPI_SERVER"),
};

/** Runs a check, and prints `ok <name>`, or `FAILED <name>` with the reason. */
export async function check(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    process.stdout.write(`FAILED ${name}: ${String(error)}\n`);
  }
}

/** Repeats the assertions until they pass. @throws their last error after {@link DEADLINE_MS}. */
export async function eventually(assertions: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      await assertions();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** @throws Error if the value is not the expected one. */
export function expectEqual<T>(actual: T, expected: T): void {
  if (JSON.stringify(actual) === JSON.stringify(expected)) return;
  throw new Error(`expected ${JSON.stringify(expected)}, received ${JSON.stringify(actual)}`);
}

/** Returns the value. @throws Error with the error of the API if there is no value. */
export function expectValue<T>(value: T | null | undefined, error?: unknown): T {
  if (value === null || value === undefined) throw new Error(`no value, but the error ${JSON.stringify(error)}`);
  return value;
}
