import { pino } from "pino";

export type Logger = pino.Logger;

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
 * replaced by "[redacted]". Writing is synchronous, so the last line before an exit is never lost.
 * @param options.destination where the lines go instead, for tests.
 */
export function createLogger(options: {
  service: string;
  level: string;
  destination?: pino.DestinationStream;
}): Logger {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRET_NAMES.flatMap(everyDepth), censor: "[redacted]" },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** A name at the top, one and two levels below: pino's redaction needs each depth named. */
function everyDepth(name: string): string[] {
  const below = name.startsWith("[") ? name : `.${name}`;
  return [name, `*${below}`, `*.*${below}`];
}
