/** Who waits for the end of which command. */
export class FinalCommands {
  readonly #waiting = new Map<string, () => void>();
  /** Ends that were read before anybody asked. */
  readonly #early = new Set<string>();

  /** Its final event was read. */
  ended(commandId: string): void {
    const resolve = this.#waiting.get(commandId);
    if (resolve === undefined) this.#early.add(commandId);
    else resolve();
    this.#waiting.delete(commandId);
  }

  /** Resolves when the command has ended; to be called once for each. */
  wait(commandId: string): Promise<void> {
    if (this.#early.delete(commandId)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(commandId, resolve));
  }
}
