/** Reports the progress of a long start. */
export interface Report {
  /** A piece of work is done, which began at `sinceMs` (milliseconds since 1970). */
  done(what: string, sinceMs: number): void;
  /** Something that takes long begins, or something noteworthy happened. */
  note(what: string): void;
}

export const silentReport: Report = { done: () => {}, note: () => {} };

/** Prints each finished step with its duration, and each note. */
export function printedReport(print: (line: string) => void = console.log): Report {
  return {
    done: (what, sinceMs) => print(`  ✓ ${what}  ${((Date.now() - sinceMs) / 1000).toFixed(1)} s`),
    note: (what) => print(`  · ${what}`),
  };
}
