import { delay } from "@kapi/kernel";

import type { Fleet, FleetMember } from "./fleet.ts";

const IN_USE_POLL_MS = 20;

/**
 * What can happen to the processes while the stream runs; each resolves when all of them are up
 * again.
 */
export class Disturbances {
  /** How often each was carried out. */
  readonly counts = { sequencerKills: 0, zombies: 0, rebalances: 0, streamStops: 0, streamKills: 0 };
  readonly #fleet: Fleet;
  readonly #sessionTimeoutMs: number;
  #guests = 0;

  constructor(fleet: Fleet, sessionTimeoutMs: number) {
    this.#fleet = fleet;
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  /** A crash of a sequencer; it comes back after `downMs`. */
  async killSequencer(sequencer: FleetMember, downMs: number): Promise<void> {
    await sequencer.end("SIGKILL");
    await delay(downMs);
    await sequencer.start();
    this.counts.sequencerKills += 1;
  }

  /**
   * A sequencer stands still until the group has given its partitions to another one, and then goes
   * on where it was: it writes what it had gathered before it learns that they are not its own any
   * more. Another sequencer must run.
   */
  async makeZombie(sequencer: FleetMember, beyondMs: number): Promise<void> {
    sequencer.signal("SIGSTOP");
    await delay(this.#sessionTimeoutMs + beyondMs);
    sequencer.signal("SIGCONT");
    this.counts.zombies += 1;
  }

  /** One more sequencer joins for `stayMs`, and leaves: twice the partitions move. */
  async rebalance(stayMs: number): Promise<void> {
    this.#guests += 1;
    const guest = await this.#fleet.add(`guest-${this.#guests}`, "sequencer");
    await delay(stayMs);
    await guest.end("SIGTERM");
    this.counts.rebalances += 1;
  }

  /** A stream process gets SIGTERM, says goodbye to its clients, and is started again. */
  async stopStream(stream: FleetMember): Promise<void> {
    await this.#inUse(stream);
    await stream.end("SIGTERM");
    await stream.start();
    this.counts.streamStops += 1;
  }

  /** A stream process dies, and is started again. */
  async killStream(stream: FleetMember): Promise<void> {
    await this.#inUse(stream);
    await stream.end("SIGKILL");
    await stream.start();
    this.counts.streamKills += 1;
  }

  /** Somebody must be connected to a stream process for its end to matter. */
  async #inUse(stream: FleetMember): Promise<void> {
    while ((await stream.load()).sockets === 0) await delay(IN_USE_POLL_MS);
  }
}
