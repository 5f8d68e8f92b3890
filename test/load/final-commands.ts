/** The callers that wait for the final events of commands. */
export class FinalCommands {
  readonly #waiting = new Map<string, () => void>();
  /** Commands whose final event was read before anybody waited. */
  readonly #early = new Set<string>();

  /** Records that the final event of the command was read. */
  ended(commandId: string): void {
    const resolve = this.#waiting.get(commandId);
    if (resolve === undefined) this.#early.add(commandId);
    else resolve();
    this.#waiting.delete(commandId);
  }

  /** Resolves when the command is final. Call once per command. */
  wait(commandId: string): Promise<void> {
    if (this.#early.delete(commandId)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(commandId, resolve));
  }
}
