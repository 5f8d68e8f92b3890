import { destination, pino } from "pino";

import { withoutSecretFields, withoutSecretTexts } from "./redaction.ts";

/** The logger of a process or a service; see {@link createLogger}. */
export type Logger = pino.Logger;

const STANDARD_OUTPUT = 1;

/**
 * The logger of a process: JSON lines on standard output, each with `service`. Secrets are replaced
 * by "[redacted]" (`redaction.ts`). Writing is synchronous: pino's default would lose the order of
 * the last lines before an exit.
 * @param options.fields returns additional fields; called for every line.
 * @param options.destination replaces standard output, for tests.
 */
export function createLogger(options: {
  service: string;
  level: string;
  fields?: () => Record<string, unknown>;
  destination?: pino.DestinationStream;
}): Logger {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: withoutSecretFields },
    // `log` above has already turned errors into plain fields.
    serializers: { err: (fields: unknown) => fields },
    hooks: { streamWrite: withoutSecretTexts },
    ...(options.fields === undefined ? {} : { mixin: options.fields }),
  };
  return pino(settings, options.destination ?? destination({ dest: STANDARD_OUTPUT, sync: true }));
}
