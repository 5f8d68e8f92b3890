export interface RowRange {
  readonly limit: number;
  readonly offset: number;
}
