import { assert } from "@kapi/kernel";

/** PostgreSQL cuts longer names off, and then two statements could share one. */
const MAX_NAME_BYTES = 63;
/** Anything else, `with` too, may write. */
const READS = /^\s*select\b/i;

/**
 * SQL text with a name. Each connection prepares it once, under its name. `Row` is the shape of its
 * result rows.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** It changes no row, though it may lock some. */
  readonly reads: boolean;
  /**
   * How long its answer is waited for, in ms, where that is longer than for the pool's other
   * statements. The transaction must also set `statement_timeout`.
   */
  readonly answerTimeoutMs?: number;
  /** Only for the compiler; never there. */
  readonly row?: Row;
}

/**
 * Declares a statement. The name must be unique for its text in the whole process. A `select` must
 * not call what writes.
 */
export function statement<Row>(
  name: string,
  text: string,
  options: Pick<Statement<Row>, "answerTimeoutMs"> = {},
): Statement<Row> {
  assert(Buffer.byteLength(name) <= MAX_NAME_BYTES, `statement name ${name} is longer than ${MAX_NAME_BYTES} bytes`);
  return { name, text, reads: READS.test(text), ...options };
}
