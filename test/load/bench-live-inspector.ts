/** Reads the memory of a Node process with `--inspect`, after garbage collection. */
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

import { WebSocket } from "ws";

import { residentBytes } from "./resident-memory.ts";

/** Number of garbage collections; each collection lets the next one free more. */
const COLLECTIONS = 4;
const SETTLE_MS = 500;

/** Bytes of a process: resident memory, used JavaScript heap, and buffers outside the heap. */
export interface Memory {
  readonly resident: number;
  readonly heap: number;
  readonly external: number;
}

/** Collects the garbage of a process, then reads its memory. Its inspector listens on `port`. */
export async function settledMemory(port: number, pid: number): Promise<Memory> {
  const inspector = await Inspector.open(port);
  try {
    for (let index = 0; index < COLLECTIONS; index += 1) {
      await inspector.call("HeapProfiler.collectGarbage", {});
      await setTimeout(SETTLE_MS);
    }
    const expression = "JSON.stringify(process.memoryUsage())";
    const { result } = (await inspector.call("Runtime.evaluate", { expression })) as { result: { value: string } };
    const { heapUsed, external } = JSON.parse(result.value) as { heapUsed: number; external: number };
    return { resident: residentBytes(pid), heap: heapUsed, external };
  } finally {
    inspector.close();
  }
}

/** A session of the Chrome DevTools protocol. */
class Inspector {
  readonly #ws: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #calls = 0;

  private constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on("message", (data: Buffer) => {
      const { id, result } = JSON.parse(data.toString()) as { id?: number; result?: unknown };
      if (id === undefined) return;
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  static async open(port: number): Promise<Inspector> {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
    if (target === undefined) throw new Error(`nothing is inspected on port ${port}`);
    const ws = new WebSocket(target.webSocketDebuggerUrl);
    await once(ws, "open");
    return new Inspector(ws);
  }

  call(method: string, params: object): Promise<unknown> {
    this.#calls += 1;
    const id = this.#calls;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#ws.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#ws.terminate();
  }
}
