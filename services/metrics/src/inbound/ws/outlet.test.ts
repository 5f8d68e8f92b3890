import { Writable } from "node:stream";

import { describe, expect, it } from "vitest";

import { Outlet } from "./outlet.ts";

const HIGH_WATER_MARK = 64;

/** A socket whose network takes a write only when told to. */
class HeldSocket extends Writable {
  readonly writes: string[] = [];
  #release: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: HIGH_WATER_MARK });
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    this.writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString());
    this.#release.push(callback);
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this._writev([{ chunk }], callback);
  }

  release(): void {
    for (const callback of this.#release.splice(0)) callback();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

describe("what goes out of a socket", () => {
  it("leaves in one write a turn, in the order it was pushed", async () => {
    const socket = new HeldSocket();
    const outlet = new Outlet({ socket, maxBufferedBytes: 100, isOpen: () => true, onDrain: () => undefined });
    for (const text of ["a", "b", "c"]) outlet.push(Buffer.from(text));
    expect(socket.writes).toEqual([]);
    await turn();
    expect(socket.writes).toEqual(["abc"]);
  });

  it("stops when too much waits for the network, and says when it has gone out", async () => {
    const socket = new HeldSocket();
    let drained = 0;
    const onDrain = (): void => {
      drained += 1;
    };
    const outlet = new Outlet({ socket, maxBufferedBytes: 100, isOpen: () => true, onDrain });
    outlet.push(Buffer.alloc(101));
    expect(outlet.hasRoom(7)).toBe(false);
    expect(outlet.stalledSinceMs).toBe(7);
    await turn();
    expect(outlet.hasRoom(9)).toBe(false);
    expect(outlet.stalledSinceMs).toBe(7);
    socket.release();
    await turn();
    expect(drained).toBe(1);
    expect(outlet.hasRoom(11)).toBe(true);
  });

  it("writes nothing behind a close", async () => {
    const socket = new HeldSocket();
    let open = true;
    const outlet = new Outlet({ socket, maxBufferedBytes: 100, isOpen: () => open, onDrain: () => undefined });
    outlet.push(Buffer.from("late"));
    open = false;
    await turn();
    expect(socket.writes).toEqual([]);
  });
});
