/**
 * The samples of a process that reads no log: it follows the accounts of its sockets at the windows
 * processes. When the first socket follows an account, this process gets the account's retained
 * window, then every new sample. When no socket follows the account any more, the window is
 * dropped.
 *
 * When a windows process becomes unavailable, its accounts continue at another one that holds their
 * partition, after their last sequence. Until then, the windows of these accounts get no samples.
 */
import { accountKey, type AccountRef } from "@kapi/contracts";
import { assert, type Clock, type Deferred, deferred } from "@kapi/kernel";
import { partitionOfKey } from "@kapi/kafka";

import type { WindowMessage } from "../domain/codec/window-message.ts";
import { type KeptRange, keptRange } from "../domain/cursor.ts";
import type { WindowLink } from "../domain/ports.ts";
import type { Follow, SampledAccount, SampleSource } from "../domain/sample-source.ts";
import { readRecords, type SampleWindow, type SampleWindows } from "../domain/sample-windows.ts";

/** Listens to the followed accounts. */
export interface FollowListener {
  /** The account has a new sample. */
  accepted(account: SampledAccount): void;
  /** The account was deleted, or is no longer known to the windows processes. */
  deleted(key: string): void;
}

interface Followed extends SampledAccount {
  readonly key: string;
  readonly account: AccountRef;
  readonly window: SampleWindow;
  sequence: number;
  /** Every sample up to `sequence` is before this position of `metrics.samples`. */
  position: number;
  followers: number;
  /** Where the account is followed now; null while no connected process holds its partition. */
  followedAt: { readonly link: WindowLink; readonly channel: number } | null;
  /** The account is open once it has the sample of this sequence; null: not known yet. */
  openingSequence: number | null;
  readonly exists: Deferred<boolean>;
  /** `ended`: the account was deleted, or does not exist. */
  state: "opening" | "open" | "ended";
}

/** The dependencies of {@link FollowedSamples}. */
export interface FollowedSamplesOptions {
  readonly windows: SampleWindows;
  readonly clock: Clock;
  /** Called if a sequence goes back: the topics were recreated, and the process must restart. */
  readonly fatal: (error: Error) => void;
}

/** The accounts that this process follows, and their windows. */
export class FollowedSamples implements SampleSource {
  readonly #options: FollowedSamplesOptions;
  readonly #accounts = new Map<string, Followed>();
  /** The accounts of each link, by channel. */
  readonly #links = new Map<WindowLink, Map<number, Followed>>();
  readonly #listeners: FollowListener[] = [];
  #nextChannel = 0;

  constructor(options: FollowedSamplesOptions) {
    this.#options = options;
  }

  listen(listener: FollowListener): void {
    this.#listeners.push(listener);
  }

  /** The partitions that no connected process holds; null while no process is connected. */
  get missingPartitions(): readonly number[] | null {
    const holdings = Array.from(this.#links.keys(), ({ holding }) => holding);
    const [first] = holdings;
    if (first === undefined) return null;
    const held = new Set(holdings.flatMap(({ own, replica }) => own.concat(replica)));
    return Array.from({ length: first.partitions }, (_, partition) => partition).filter((one) => !held.has(one));
  }

  isDeleted(key: string): boolean {
    return this.#accounts.get(key)?.state === "ended";
  }

  follow(key: string, account: AccountRef): Follow {
    assert(accountKey(account.serverId, account.accountNumber) === key, "the key is not that of the account");
    const known = this.#accounts.get(key);
    const followed = known ?? this.#open(key, account);
    followed.followers += 1;
    if (known === undefined) this.#followAtHolder(followed);
    const { state, exists } = followed;
    return { exists: state === "opening" ? exists.promise : state === "open", end: () => this.#endOne(followed) };
  }

  find(key: string): SampledAccount | undefined {
    const followed = this.#accounts.get(key);
    return followed !== undefined && followed.state === "open" && followed.sequence > 0 ? followed : undefined;
  }

  kept(account: SampledAccount): KeptRange {
    const { windows, clock } = this.#options;
    windows.trim(account.window, clock.nowMs());
    return keptRange(account);
  }

  frames(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number } {
    return this.#options.windows.frames(account.window, fromSequence, maxBytes);
  }

  /** Frees the memory of samples that are too old; called every few seconds. */
  expire(): void {
    this.#options.windows.expire(this.#options.clock.nowMs());
  }

  /**
   * Called when a windows process has connected. Accounts on its own partitions move to it.
   * Accounts on its replica partitions move to it if no other connected process holds them.
   */
  connected(link: WindowLink): void {
    this.#links.set(link, new Map());
    for (const followed of this.#accounts.values()) this.#followAtHolder(followed);
  }

  /**
   * Called when a connection has ended. The accounts followed on it move to another connected
   * process that holds them, if there is one.
   */
  disconnected(link: WindowLink): void {
    const ofLink = this.#links.get(link);
    if (ofLink === undefined) return;
    this.#links.delete(link);
    for (const followed of ofLink.values()) {
      followed.followedAt = null;
      this.#followAtHolder(followed);
    }
  }

  /** Applies a message about one account. Messages of ended channels are ignored. */
  apply(link: WindowLink, message: Exclude<WindowMessage, { kind: "holding" }>): void {
    const followed = this.#links.get(link)?.get(message.channel);
    if (followed === undefined) return;
    if (message.kind === "samples") this.#append(followed, message.from, message.records);
    else if (message.kind === "opened") this.#opened(followed, message.last);
    else this.#ended(followed, message.kind);
  }

  #open(key: string, account: AccountRef): Followed {
    const followed: Followed = {
      key,
      account,
      window: this.#options.windows.open(),
      sequence: 0,
      position: 0,
      followers: 0,
      followedAt: null,
      openingSequence: null,
      exists: deferred<boolean>(),
      state: "opening",
    };
    this.#accounts.set(key, followed);
    return followed;
  }

  #endOne(followed: Followed): void {
    followed.followers -= 1;
    if (followed.followers > 0) return;
    this.#accounts.delete(followed.key);
    this.#unfollow(followed);
    this.#options.windows.close(followed.window);
  }

  #unfollow(followed: Followed): void {
    if (followed.followedAt === null) return;
    const { link, channel } = followed.followedAt;
    this.#links.get(link)?.delete(channel);
    link.unfollow(channel);
    followed.followedAt = null;
  }

  /**
   * Follows the account at the connected process whose own partitions include it. If there is no
   * such process, follows the account at a connected replica.
   */
  #followAtHolder(followed: Followed): void {
    if (followed.state === "ended") return;
    const link = this.#linkFor(followed.key);
    if (link === followed.followedAt?.link || link === undefined) return;
    this.#unfollow(followed);
    const channel = this.#nextChannel;
    this.#nextChannel = (channel + 1) % 2 ** 32;
    followed.followedAt = { link, channel };
    this.#links.get(link)?.set(channel, followed);
    const { account, sequence, position } = followed;
    link.follow({ channel, ...account, afterSequence: sequence, position });
  }

  #linkFor(key: string): WindowLink | undefined {
    let replica: WindowLink | undefined;
    for (const link of this.#links.keys()) {
      const partition = partitionOfKey(key, link.holding.partitions);
      if (link.holding.own.includes(partition)) return link;
      if (link.holding.replica.includes(partition)) replica = link;
    }
    return replica;
  }

  #opened(followed: Followed, last: number): void {
    // A windows process opens the account only after it has applied `metrics.samples` up to
    // `position`. So it has every sample that this process has.
    if (last < followed.sequence) {
      this.#options.fatal(
        new Error(
          `the sequence of ${followed.key} went back from ${followed.sequence} to ${last}: the topics were recreated`,
        ),
      );
      return;
    }
    followed.openingSequence = last;
    this.#openIfComplete(followed);
  }

  #append(followed: Followed, from: number, records: Buffer): void {
    const nowMs = this.#options.clock.nowMs();
    for (const sample of readRecords(records, from)) {
      // After a move to another process, samples can arrive twice.
      if (sample.sequence <= followed.sequence) continue;
      this.#options.windows.append(followed.window, sample, nowMs);
      followed.sequence = sample.sequence;
      followed.position = sample.offset + 1;
      if (followed.state === "open") for (const listener of this.#listeners) listener.accepted(followed);
    }
    this.#openIfComplete(followed);
  }

  #openIfComplete(followed: Followed): void {
    if (
      followed.state !== "opening" ||
      followed.openingSequence === null ||
      followed.sequence < followed.openingSequence
    )
      return;
    followed.state = "open";
    followed.exists.resolve(true);
  }

  #ended(followed: Followed, kind: "deleted" | "unknown"): void {
    const wasOpen = followed.state === "open";
    followed.state = "ended";
    this.#unfollow(followed);
    followed.exists.resolve(false);
    if (wasOpen || kind === "deleted") for (const listener of this.#listeners) listener.deleted(followed.key);
  }
}
