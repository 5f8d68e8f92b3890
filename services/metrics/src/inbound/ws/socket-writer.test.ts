import { Writable } from "node:stream";

import { describe, expect, it } from "vitest";

import { SocketWriter } from "./socket-writer.ts";

const HIGH_WATER_MARK = 64;

/** A socket that completes its writes only on `release`. */
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

describe("a socket writer", () => {
  it("makes one write per turn of the event loop, in the order of the pushes", async () => {
    const socket = new HeldSocket();
    const writer = new SocketWriter({ socket, maxBufferedBytes: 100, isOpen: () => true, onDrain: () => undefined });
    for (const text of ["a", "b", "c"]) writer.push(Buffer.from(text));
    expect(socket.writes).toEqual([]);
    await turn();
    expect(socket.writes).toEqual(["abc"]);
  });

  it("stalls above the limit of unsent bytes, and reports when they have drained", async () => {
    const socket = new HeldSocket();
    let drained = 0;
    const onDrain = (): void => {
      drained += 1;
    };
    const writer = new SocketWriter({ socket, maxBufferedBytes: 100, isOpen: () => true, onDrain });
    writer.push(Buffer.alloc(101));
    expect(writer.hasRoom(7)).toBe(false);
    expect(writer.stalledSinceMs).toBe(7);
    await turn();
    expect(writer.hasRoom(9)).toBe(false);
    expect(writer.stalledSinceMs).toBe(7);
    socket.release();
    await turn();
    expect(drained).toBe(1);
    expect(writer.hasRoom(11)).toBe(true);
  });

  it("writes nothing after a close", async () => {
    const socket = new HeldSocket();
    let open = true;
    const writer = new SocketWriter({ socket, maxBufferedBytes: 100, isOpen: () => open, onDrain: () => undefined });
    writer.push(Buffer.from("late"));
    open = false;
    await turn();
    expect(socket.writes).toEqual([]);
  });
});
