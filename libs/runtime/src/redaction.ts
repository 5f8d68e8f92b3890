/**
 * Two checks keep secrets out of the log (decisions, 5.3); neither is enough alone. The check of
 * names, at any depth of an entry, finds secrets that look like other values. The check of forms,
 * in the whole line, finds secrets within a text. Of an error only listed fields are logged,
 * because libraries add the data of their call to an error, such as the arguments of a Redis
 * command.
 */

const REDACTED = "[redacted]";
/** Maximum depth of an entry; deeper values are not logged. */
const MAX_DEPTH = 8;
const TOO_DEEP = "[deep]";
const CIRCULAR = "[circular]";

/**
 * A value is a secret if its name ends like this, in lower case and without separators:
 * `x-internal-token`, `newPassword`.
 */
const SECRET_NAME =
  /(?:authorization|cookie|password|passphrase|secret|token|credential|(?:management|api|private)key)s?$/;
/** Names of keyrings, such as `WEBHOOK_SEALING_KEYS`. */
const SECRET_RING = /(?:sealing|derivation|fingerprint|signing)keys?$/;

/**
 * Secrets by their form: management keys, secrets of webhooks, and the credentials after the scheme
 * of an `Authorization` header.
 */
const SECRET_TEXT = /\bkapi\.\w{8,}\.[\w-]{20,}|\bwhsec_[\w+/=-]{8,}|\b(?:Management|Bearer|Basic) [\w.~+/=-]{16,}/g;
/** The password in the address of a server. */
const ADDRESS_PASSWORD = /(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g;

/** Fields of an error that are logged in addition to type, message, stack, cause and errors. */
const ERROR_FIELDS = ["code", "status", "syscall", "address", "port", "schema", "table", "constraint"] as const;

/** An entry of the log without the values of secret names. */
export function withoutSecretFields(entry: Record<string, unknown>): Record<string, unknown> {
  return fieldsOf(entry, []);
}

/** A line of the log without texts that are secrets by their form. */
export function withoutSecretTexts(line: string): string {
  return line.replaceAll(SECRET_TEXT, REDACTED).replaceAll(ADDRESS_PASSWORD, `$1${REDACTED}@`);
}

function isSecretName(name: string): boolean {
  const plain = name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
  return SECRET_NAME.test(plain) || SECRET_RING.test(plain);
}

function plainOf(value: unknown, above: readonly object[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (above.includes(value)) return CIRCULAR;
  if (above.length >= MAX_DEPTH) return TOO_DEEP;
  if (value instanceof Error) return errorFields(value, above);
  // Dates, URLs and buffers write their own JSON: the check of names does not look into it.
  if ("toJSON" in value) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => plainOf(one, [...above, value]));
  return fieldsOf(value, above);
}

function fieldsOf(value: object, above: readonly object[]): Record<string, unknown> {
  const within = [...above, value];
  return Object.fromEntries(
    Object.entries(value).map(([name, field]: [string, unknown]) => [
      name,
      isSecretName(name) && field !== undefined && field !== null ? REDACTED : plainOf(field, within),
    ]),
  );
}

function errorFields(error: Error, above: readonly object[]): Record<string, unknown> {
  const within = [...above, error];
  const logged: Record<string, unknown> = { type: error.name, message: error.message, stack: error.stack };
  for (const name of ERROR_FIELDS) if (Object.hasOwn(error, name)) logged[name] = Reflect.get(error, name);
  if (error.cause !== undefined) logged["cause"] = plainOf(error.cause, within);
  if (error instanceof AggregateError) logged["errors"] = error.errors.map((one: unknown) => plainOf(one, within));
  return logged;
}
