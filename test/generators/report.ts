/** Reports the checks of `npm run verify -- generators` on the standard output. */

/** The line that a program prints for a check. The program uses a generated client. */
const LINE = /^(ok|FAILED) (.+)$/gm;

/** Prints and counts the checks of a run. */
export class Report {
  #passed = 0;
  #failed = 0;

  /** Runs a step. Returns its result, or null if the step failed. */
  async step<T>(name: string, run: () => Promise<T>): Promise<T | null> {
    try {
      const result = await run();
      this.#add(true, name);
      return result;
    } catch (error) {
      this.#add(false, `${name}: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  /** Runs a step that must fail. `fault` is the error that is reported if the step succeeds. */
  async failingStep(name: string, fault: string, run: () => Promise<unknown>): Promise<void> {
    await this.step(name, async () => {
      const passed = await run().then(
        () => true,
        () => false,
      );
      if (passed) throw new Error(fault);
    });
  }

  /** Adds the checks that a program printed. A program that printed no check has failed. */
  addProgram(program: string, output: string): void {
    const lines = [...output.matchAll(LINE)];
    for (const [, outcome, check = ""] of lines) this.#add(outcome === "ok", `${program}: ${check}`);
    if (lines.length === 0) this.#add(false, `${program}: printed no check`);
  }

  /** Prints a measurement, indented below the checks. */
  figure(text: string): void {
    process.stdout.write(`       ${text}\n`);
  }

  /** Prints how many checks passed and failed. Returns the exit code. */
  end(): number {
    process.stdout.write(`${this.#passed} passed, ${this.#failed} failed\n`);
    return this.#failed === 0 ? 0 : 1;
  }

  #add(passed: boolean, name: string): void {
    if (passed) this.#passed += 1;
    else this.#failed += 1;
    process.stdout.write(`${passed ? "ok    " : "FAILED"} ${name}\n`);
  }
}
