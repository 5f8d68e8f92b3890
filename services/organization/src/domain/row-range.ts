/** Rows of a list: `limit` of them after the first `offset`. */
export interface RowRange {
  readonly limit: number;
  readonly offset: number;
}
