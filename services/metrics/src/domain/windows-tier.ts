import type { WindowsHolding } from "@kapi/contracts";

/** The settings of a windows process. */
export interface TierSettings {
  /** The number of this process, from 0. */
  readonly instance: number;
  /** Number of windows processes. */
  readonly count: number;
  /** Whether each process also holds the own partitions of the next process. */
  readonly replica: boolean;
}

/** Which windows process holds which partitions of `metrics.samples`. */
export class WindowsTier {
  readonly #settings: TierSettings;

  constructor(settings: TierSettings) {
    this.#settings = settings;
  }

  /**
   * Returns the numbers of the processes that hold a partition. The first is the process that has
   * it as an own partition (partition modulo count), the second is the replica, if there is one.
   */
  holdersOf(partition: number): readonly number[] {
    const { count, replica } = this.#settings;
    const own = partition % count;
    const previous = (own - 1 + count) % count;
    return replica && previous !== own ? [own, previous] : [own];
  }

  /** Whether this process holds a partition. */
  isHeld(partition: number): boolean {
    return this.holdersOf(partition).includes(this.#settings.instance);
  }

  /** Returns which of `partitions` partitions this process holds. */
  holding(partitions: number): WindowsHolding {
    const { instance } = this.#settings;
    const held = Array.from({ length: partitions }, (_, partition) => partition).filter((one) => this.isHeld(one));
    const isOwn = (partition: number): boolean => this.holdersOf(partition)[0] === instance;
    return { partitions, own: held.filter(isOwn), replica: held.filter((one) => !isOwn(one)) };
  }
}
