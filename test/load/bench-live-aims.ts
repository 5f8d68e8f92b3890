/** Figures of `bench -- live` and `bench -- risk` with their aims, as text. */

/** A figure, with its aim if there is one. */
export interface Aim {
  readonly what: string;
  readonly figure: string;
  readonly aim?: string;
  readonly isMet?: boolean;
  /** The process that limits the figure. */
  readonly bound?: string;
}

/** All figures as text, one per line. */
export function table(aims: readonly Aim[]): string {
  return aims.map(row).join("\n");
}

function row({ what, figure, aim, isMet, bound }: Aim): string {
  const result = aim === undefined ? "" : `   aim ${aim}: ${isMet === true ? "met" : "MISSED"}`;
  return `${what.padEnd(66)} ${figure}${result}${bound === undefined ? "" : `   bound by ${bound}`}`;
}
