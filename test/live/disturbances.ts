import { delay } from "@kapi/kernel";

import type { Fleet, FleetMember } from "./fleet.ts";

const IN_USE_POLL_MS = 20;

/** Disturbs sequencers and stream processes. Each method resolves when the disturbance is over. */
export class Disturbances {
  /** Number of executions of each disturbance. */
  readonly counts = { sequencerKills: 0, zombies: 0, rebalances: 0, streamStops: 0, streamKills: 0 };
  readonly #fleet: Fleet;
  readonly #sessionTimeoutMs: number;
  #guests = 0;

  constructor(fleet: Fleet, sessionTimeoutMs: number) {
    this.#fleet = fleet;
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  /** Kills a sequencer, and restarts it after `downMs`. */
  async killSequencer(sequencer: FleetMember, downMs: number): Promise<void> {
    await sequencer.end("SIGKILL");
    await delay(downMs);
    await sequencer.start();
    this.counts.sequencerKills += 1;
  }

  /**
   * Pauses a sequencer for the session timeout plus `beyondMs`, so that the group assigns its
   * partitions to another sequencer. Another sequencer must be running. The paused sequencer then
   * continues, and writes samples before it detects the loss of its partitions.
   */
  async makeZombie(sequencer: FleetMember, beyondMs: number): Promise<void> {
    sequencer.signal("SIGSTOP");
    await delay(this.#sessionTimeoutMs + beyondMs);
    sequencer.signal("SIGCONT");
    this.counts.zombies += 1;
  }

  /** Adds a sequencer for `stayMs`, so that partitions move twice. */
  async rebalance(stayMs: number): Promise<void> {
    this.#guests += 1;
    const guest = await this.#fleet.add(`guest-${this.#guests}`, "sequencer");
    await delay(stayMs);
    await guest.end("SIGTERM");
    this.counts.rebalances += 1;
  }

  /** Stops a stream process with SIGTERM, and restarts it. */
  async stopStream(stream: FleetMember): Promise<void> {
    await this.#inUse(stream);
    await stream.end("SIGTERM");
    await stream.start();
    this.counts.streamStops += 1;
  }

  /** Kills a stream process, and restarts it. */
  async killStream(stream: FleetMember): Promise<void> {
    await this.#inUse(stream);
    await stream.end("SIGKILL");
    await stream.start();
    this.counts.streamKills += 1;
  }

  /** Waits for a connection to a stream process: otherwise a stop has no effect on clients. */
  async #inUse(stream: FleetMember): Promise<void> {
    while ((await stream.load()).sockets === 0) await delay(IN_USE_POLL_MS);
  }
}
