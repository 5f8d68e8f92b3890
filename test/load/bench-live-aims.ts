/** What `bench -- live` aims at, gathered while its parts run and printed at the end. */

/** A figure, beside what it should be if something was aimed at. */
export interface Aim {
  readonly what: string;
  readonly figure: string;
  readonly aim?: string;
  readonly isMet?: boolean;
  /** What keeps the figure from being better. */
  readonly bound?: string;
}

/** All figures as text, a line each. */
export function table(aims: readonly Aim[]): string {
  return aims.map(row).join("\n");
}

function row({ what, figure, aim, isMet, bound }: Aim): string {
  const result = aim === undefined ? "" : `   aim ${aim}: ${isMet === true ? "met" : "MISSED"}`;
  return `${what.padEnd(66)} ${figure}${result}${bound === undefined ? "" : `   bound by ${bound}`}`;
}
