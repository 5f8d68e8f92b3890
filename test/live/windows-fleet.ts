import { delay } from "@kapi/kernel";
import { freePort } from "@kapi/servers";

import type { Fleet, FleetMember } from "./fleet.ts";

const FEW = 2;
const MANY = 3;
/** Longer than a stream process waits for a silent windows process. */
const SILENCE_MS = 8_000;

/**
 * The windows processes of a trial, two or three at a time, and the stream processes that use them.
 * While one windows process is unavailable, a replica has its partitions. The parameter `instance`
 * of a method is any number: the method takes it modulo the current number of windows processes.
 */
export class WindowsFleet {
  /** Number of executions of each disturbance. */
  readonly counts = { windowsKills: 0, windowsStops: 0, windowsPauses: 0, rescalings: 0 };
  readonly #members: readonly FleetMember[];
  readonly #urls: readonly string[];
  readonly #streams: FleetMember[] = [];
  #count = FEW;

  private constructor(members: readonly FleetMember[]) {
    this.#members = members;
    this.#urls = members.map(({ url }) => url);
  }

  /** Starts two windows processes. */
  static async start(fleet: Fleet): Promise<WindowsFleet> {
    const members: FleetMember[] = [];
    for (let instance = 0; instance < MANY; instance += 1) {
      members.push(await fleet.prepare(`windows-${instance}`, "windows", {}, await freePort()));
    }
    const tier = new WindowsFleet(members);
    tier.#apply();
    await Promise.all(members.slice(0, FEW).map((member) => member.start()));
    return tier;
  }

  /** Starts a stream process that follows accounts at the windows processes. */
  async addStream(fleet: Fleet, name: string): Promise<FleetMember> {
    const stream = await fleet.add(name, "stream", this.#streamEnv());
    this.#streams.push(stream);
    return stream;
  }

  /** Kills an instance, and restarts it after `downMs`. */
  async kill(instance: number, downMs: number): Promise<void> {
    await this.#restart(this.#running(instance), "SIGKILL", downMs);
    this.counts.windowsKills += 1;
  }

  /** Stops an instance with SIGTERM, and restarts it. */
  async stopOne(instance: number): Promise<void> {
    await this.#restart(this.#running(instance), "SIGTERM", 0);
    this.counts.windowsStops += 1;
  }

  /**
   * Pauses an instance until the stream processes follow its accounts at the replica, and for
   * `beyondMs` longer.
   */
  async pause(instance: number, beyondMs: number): Promise<void> {
    const member = this.#running(instance);
    member.signal("SIGSTOP");
    await delay(SILENCE_MS + beyondMs);
    member.signal("SIGCONT");
    this.counts.windowsPauses += 1;
  }

  /**
   * Changes the number of instances from two to three or back, one process after another: windows
   * processes, then stream processes. The third windows process starts first, or ends last.
   */
  async rescale(): Promise<void> {
    const before = this.#count;
    this.#count = before === FEW ? MANY : FEW;
    this.#apply();
    if (this.#count > before) await this.#running(before).start();
    for (let instance = 0; instance < FEW; instance += 1) await this.#restart(this.#running(instance), "SIGTERM", 0);
    for (const stream of this.#streams) await this.#restart(stream, "SIGTERM", 0);
    if (this.#count < before) await this.#members[this.#count]?.end("SIGTERM");
    this.counts.rescalings += 1;
  }

  #running(instance: number): FleetMember {
    const member = this.#members[instance % this.#count];
    if (member === undefined) throw new RangeError(`there is no instance ${instance}`);
    return member;
  }

  async #restart(member: FleetMember, signal: "SIGTERM" | "SIGKILL", downMs: number): Promise<void> {
    await member.end(signal);
    await delay(downMs);
    await member.start();
  }

  /** Sets the variables for the current number of instances. A process reads them at its start. */
  #apply(): void {
    for (const [instance, member] of this.#members.entries()) {
      member.change({
        WINDOWS_INSTANCE: String(instance),
        WINDOWS_COUNT: String(this.#count),
        WINDOWS_REPLICA: "on",
        ...this.#streamEnv(),
      });
    }
    for (const stream of this.#streams) stream.change(this.#streamEnv());
  }

  #streamEnv(): Readonly<Record<string, string>> {
    return { WINDOWS_URLS: this.#urls.slice(0, this.#count).join(",") };
  }
}
