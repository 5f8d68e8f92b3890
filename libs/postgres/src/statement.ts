import { assert } from "@kapi/kernel";

/** PostgreSQL truncates longer names, so two statements could share a name. */
const MAX_NAME_BYTES = 63;
/** Statements that start with `select` count as reads. Others may write, also `with … select`. */
const READS = /^\s*select\b/i;

/**
 * SQL text with a name. Each connection prepares it once, under its name. `Row` is the shape of its
 * result rows.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** The statement changes no row, but may lock rows. */
  readonly reads: boolean;
  /**
   * Timeout of the response in milliseconds, in place of the timeout of the pool. For a longer
   * timeout, the transaction must also set `statement_timeout`.
   */
  readonly answerTimeoutMs?: number;
  /** Only for the compiler; always undefined. */
  readonly row?: Row;
}

/**
 * Declares a statement. In a process, a name must always have the same text. In a transaction, a
 * `select` must not call a function that writes: reads do not wait for the answer to `begin`. If
 * `begin` failed, the write would be committed without the transaction.
 */
export function statement<Row>(
  name: string,
  text: string,
  options: Pick<Statement<Row>, "answerTimeoutMs"> = {},
): Statement<Row> {
  assert(Buffer.byteLength(name) <= MAX_NAME_BYTES, `statement name ${name} is longer than ${MAX_NAME_BYTES} bytes`);
  return { name, text, reads: READS.test(text), ...options };
}
