import { destination, pino } from "pino";

export type Logger = pino.Logger;

const STANDARD_OUTPUT = 1;

/** Names whose values never reach a log, at the top of an entry and one level below (decisions, 5.3). */
const SECRET_NAMES = [
  "authorization",
  "Authorization",
  "password",
  "tradingPassword",
  "investorPassword",
  "sealedPassword",
  "secret",
  "token",
  "managementKey",
  "credentials",
  '["x-internal-token"]',
];

/**
 * The logger of a process: JSON lines on standard output, each with `service`. Values under the names of secrets are
 * replaced by "[redacted]". Writing is synchronous: asked for by name, because pino's own default would lose the order of
 * the last lines before an exit.
 * @param options.fields what every line tells besides, asked for at each.
 * @param options.destination where the lines go instead, for tests.
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
    formatters: { level: (label) => ({ level: label }) },
    ...(options.fields === undefined ? {} : { mixin: options.fields }),
    redact: { paths: SECRET_NAMES.flatMap(everyDepth), censor: "[redacted]" },
  };
  return pino(settings, options.destination ?? destination({ dest: STANDARD_OUTPUT, sync: true }));
}

/** A name at the top, one and two levels below: pino's redaction needs each depth named. */
function everyDepth(name: string): string[] {
  const below = name.startsWith("[") ? name : `.${name}`;
  return [name, `*${below}`, `*.*${below}`];
}
