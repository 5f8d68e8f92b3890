const MAX_KEPT = 50;

/** Collects the violations of a trial. */
export class Violations {
  readonly kept: string[] = [];
  #count = 0;
  readonly #report: ((text: string) => void) | null;

  /** `tell` is called with each of the first {@link MAX_KEPT} violations. */
  constructor(tell: ((text: string) => void) | null = null) {
    this.#report = tell;
  }

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
