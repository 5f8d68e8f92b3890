import type { AccountRef } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { KeptRange } from "../domain/cursor.ts";
import type { AccountExistence } from "../domain/ports.ts";
import type { Follow, SampledAccount, SampleSource } from "../domain/sample-source.ts";
import type { SampleLog } from "./sample-log.ts";

/** Pause before the next call to the account service if a call has failed. */
const RETRY_INTERVAL_MS = 1_000;

/** The dependencies of {@link DirectSamples}. */
export interface DirectSamplesOptions {
  readonly log: SampleLog;
  readonly existence: AccountExistence;
  readonly logger: Logger;
}

/** The samples of a process that reads the log itself. */
export class DirectSamples implements SampleSource {
  readonly #options: DirectSamplesOptions;

  constructor(options: DirectSamplesOptions) {
    this.#options = options;
  }

  isDeleted(key: string): boolean {
    return this.#options.log.isDeleted(key);
  }

  follow(key: string, account: AccountRef): Follow {
    const { log } = this.#options;
    if (log.isDeleted(key) || log.find(key) !== undefined) {
      return { exists: !log.isDeleted(key), end: () => undefined };
    }
    const ended = new AbortController();
    return { exists: this.#existsWhenKnown(key, account, ended.signal), end: () => ended.abort() };
  }

  find(key: string): SampledAccount | undefined {
    return this.#options.log.find(key);
  }

  kept(account: SampledAccount): KeptRange {
    return this.#options.log.kept(account);
  }

  frames(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number } {
    return this.#options.log.frames(account, fromSequence, maxBytes);
  }

  /** Asks the account service until it answers, or until `ended` is aborted. */
  async #existsWhenKnown(key: string, account: AccountRef, ended: AbortSignal): Promise<boolean> {
    const { log, existence, logger } = this.#options;
    while (!ended.aborted) {
      try {
        const [exists] = await existence.exist([account]);
        return exists === true && !log.isDeleted(key);
      } catch (error) {
        logger.warn({ err: error }, "the account service could not be asked about an account; retrying");
        await delay(RETRY_INTERVAL_MS, ended);
      }
    }
    return new Promise(() => undefined);
  }
}
