/**
 * Live samples of the accounts that people watch. A new stream asks the metrics service for the
 * newest sample of its account. After that, one request a second covers all accounts that are
 * watched in this process.
 *
 * Call `takeSamples` and `endClosedSessions` about once a second, and `endAll` at the stop. A
 * stream gets a sample at most once, in order of sequence, and nothing after its end.
 */
import { type AccountMetricsFrame, accountKey, type LiveEnd, type AccountRef } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Accounts, Samples } from "../domain/ports.ts";
import { areSessionsOpen, type SessionDependencies, type SessionMark } from "./use-session.ts";

/** Maximum number of streams of a user in this process. */
export const MAX_STREAMS_PER_USER = 50;
/** Maximum number of streams of this process, and so of accounts per request. */
const MAX_STREAMS = 1_000;

/** Receives the samples of one stream. Over a slow connection only the newest sample is sent. */
export interface LiveSink {
  sample(frame: AccountMetricsFrame): void;
  end(reason: LiveEnd["reason"]): void;
}

interface Stream extends SessionMark, AccountRef {
  readonly sink: LiveSink;
  lastSequence: number;
}

interface LiveAccountsDependencies extends SessionDependencies {
  readonly samples: Samples;
  readonly accounts: Pick<Accounts, "existing">;
}

/**
 * The live streams of this process: polls the metrics service for all watched accounts together.
 */
export class LiveAccounts {
  readonly #dependencies: LiveAccountsDependencies;
  readonly #streams = new Set<Stream>();
  #stopping = false;

  constructor(dependencies: LiveAccountsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Watches an account while the session is open; returns a function that stops watching. Throws
   * 429 if the user or the process has too many streams, and 500 after {@link endAll}.
   */
  watch(session: SessionMark, account: AccountRef, sink: LiveSink): () => void {
    if (this.#stopping) throw new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": "1" } });
    const ofUser = [...this.#streams].filter(({ userId }) => userId === session.userId).length;
    if (ofUser >= MAX_STREAMS_PER_USER || this.#streams.size >= MAX_STREAMS) {
      const headers = { "retry-after": "5" };
      throw new ApiError("RATE_LIMITED", { text: "Too many live accounts are open", headers });
    }
    const stream: Stream = { ...session, ...account, sink, lastSequence: 0 };
    this.#streams.add(stream);
    // Sends the newest sample at once; if this fails, the next round sends it.
    void this.#offerNewest(stream).catch(() => undefined);
    return () => this.#streams.delete(stream);
  }

  /**
   * Reads the newest sample of every watched account, and sends it to streams that do not have it.
   * Ends the streams of deleted accounts.
   */
  async takeSamples(): Promise<void> {
    const watched = Map.groupBy(this.#streams, (stream) => accountKey(stream.serverId, stream.accountNumber));
    const groups = [...watched.values()];
    const names = groups.flatMap(([first]) => (first === undefined ? [] : [nameOf(first)]));
    if (names.length === 0) return;
    const frames = await this.#dependencies.samples.latest(names);
    const silent: Stream[] = [];
    for (const [index, streams] of groups.entries()) {
      const frame = frames[index] ?? null;
      if (frame === null) silent.push(...streams);
      else for (const stream of streams) this.#offer(stream, frame);
    }
    await this.#endDeleted(silent);
  }

  /** Ends streams of closed sessions. */
  async endClosedSessions(): Promise<void> {
    const streams = [...this.#streams];
    if (streams.length === 0) return;
    const open = await areSessionsOpen(this.#dependencies, streams);
    for (const [index, stream] of streams.entries()) if (open[index] !== true) this.#end(stream, "signed_out");
  }

  /** Ends all streams: the process stops, and browsers may reconnect to another process. */
  endAll(): void {
    this.#stopping = true;
    for (const stream of this.#streams) this.#end(stream, "restart");
  }

  async #offerNewest(stream: Stream): Promise<void> {
    const [frame = null] = await this.#dependencies.samples.latest([nameOf(stream)]);
    if (frame !== null) this.#offer(stream, frame);
  }

  #offer(stream: Stream, frame: AccountMetricsFrame): void {
    if (frame.sequence <= stream.lastSequence || !this.#streams.has(stream)) return;
    stream.lastSequence = frame.sequence;
    stream.sink.sample(frame);
  }

  /**
   * Ends the streams of deleted accounts. The account of a silent stream has no sample: the account
   * is deleted or has no values yet, or metrics has just started.
   */
  async #endDeleted(silent: readonly Stream[]): Promise<void> {
    if (silent.length === 0) return;
    const existing = await this.#dependencies.accounts.existing(silent.map(nameOf));
    for (const [index, stream] of silent.entries()) if (existing[index] === false) this.#end(stream, "deleted");
  }

  #end(stream: Stream, reason: LiveEnd["reason"]): void {
    if (this.#streams.delete(stream)) stream.sink.end(reason);
  }
}

function nameOf({ serverId, accountNumber }: AccountRef): AccountRef {
  return { serverId, accountNumber };
}
