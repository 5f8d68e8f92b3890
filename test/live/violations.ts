const MAX_KEPT = 50;

/** Collects the violations of a trial. */
export class Violations {
  /** The texts of the first {@link MAX_KEPT} violations. */
  readonly kept: string[] = [];
  #count = 0;
  readonly #report: ((text: string) => void) | null;

  /** `report` is called with each of the first {@link MAX_KEPT} violations. */
  constructor(report: ((text: string) => void) | null = null) {
    this.#report = report;
  }

  /** Number of all violations. */
  get count(): number {
    return this.#count;
  }

  add(text: string): void {
    this.#count += 1;
    if (this.kept.length >= MAX_KEPT) return;
    this.kept.push(text);
    this.#report?.(text);
  }
}
