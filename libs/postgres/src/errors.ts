import { isNetworkError } from "@kapi/kernel";
import { DatabaseError } from "pg";

const UNIQUE_VIOLATION = "23505";
const CHECK_VIOLATION = "23514";
/** Out of connections; the server is stopping or starting. */
const NOT_ACCEPTING_CODES = new Set(["53300", "57P01", "57P02", "57P03"]);
/** Also serialization failure, deadlock, lock not available, statement timeout. */
const TRANSIENT_CODES = new Set([...NOT_ACCEPTING_CODES, "40001", "40P01", "55P03", "57014"]);
/** The server is a standby: it was demoted, or another server was promoted. */
const READ_ONLY = "25006";
/** A statement was ignored, because an earlier statement of its transaction failed. */
const FAILED_TRANSACTION = "25P02";
const CONNECTION_CLASS = "08";
/** pg sets no code on these errors. */
const CONNECTION_LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout expired|timeout exceeded when trying to connect|Query read timeout)/;

/** Whether `error` is a violation of a unique constraint or index: of `constraint`, if given. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== UNIQUE_VIOLATION) return false;
  return constraint === undefined || error.constraint === constraint;
}

/** Whether `error` says that the table has no partition for the row. */
export function isMissingPartition(error: unknown): boolean {
  // A violated check constraint has the same code.
  return error instanceof DatabaseError && error.code === CHECK_VIOLATION && error.routine === "ExecFindPartition";
}

/**
 * Whether the same work may succeed later: connection lost, no free connection of the server,
 * serialization failure, deadlock, a timeout of a lock or a statement, a server that stops, starts
 * or is a standby. After a connection was lost during a commit, the outcome of the commit is
 * unknown, so retried work must be idempotent.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseError) {
    const code = error.code ?? "";
    return TRANSIENT_CODES.has(code) || code === READ_ONLY || code.startsWith(CONNECTION_CLASS);
  }
  return isConnectionLost(error);
}

/** Whether the connection to the server is lost, or the server no longer answers on it. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof DatabaseError) return false;
  return isNetworkError(error) || CONNECTION_LOST.test(error.message);
}

/**
 * Whether the start of a connection failed because the server does not answer, or accepts no
 * connection at the moment. A server that rejects the password or the certificate is reachable.
 */
export function isUnreachable(error: unknown): boolean {
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isConnectionLost(reason) || (reason instanceof DatabaseError && NOT_ACCEPTING_CODES.has(reason.code ?? ""));
}

/**
 * Whether the connection of `error` must not be used again: the error is not an answer of the
 * server, or the server ends the connection or rejects writes.
 */
export function breaksConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  return error.severity === "FATAL" || error.severity === "PANIC" || isReadOnly(error);
}

/** Whether the server rejects writes. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === READ_ONLY;
}

/** Whether `error` only reports that an earlier statement of its transaction failed. */
export function isOfFailedTransaction(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === FAILED_TRANSACTION;
}
