import { PassThrough } from "node:stream";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { terminalSurroundings } from "./terminal.ts";

let input: PassThrough;

beforeEach(() => {
  input = new PassThrough();
  vi.spyOn(process, "stdin", "get").mockReturnValue(input as never);
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
});
afterEach(() => vi.restoreAllMocks());

/** The surroundings, and `interrupt`: calls their listeners of Ctrl-C, but no other listeners. */
function surroundings() {
  const before = new Set(process.listeners("SIGINT"));
  const created = terminalSurroundings();
  const interrupt = (): void => {
    for (const listener of process.listeners("SIGINT")) if (!before.has(listener)) listener("SIGINT");
  };
  return { ...created, interrupt };
}

describe("Ctrl-C ends", () => {
  it("the read of a line of standard input", async () => {
    const { readLine, interrupt } = surroundings();
    const line = readLine();
    interrupt();
    await expect(line).rejects.toMatchObject({ name: "AbortError" });
  });

  it("a question that a pipe has to answer", async () => {
    const { ask, interrupt } = surroundings();
    const answer = ask("Address: ");
    interrupt();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("without Ctrl-C", () => {
  it("the first line of standard input is read; an empty input gives an empty line", async () => {
    input.end("kapi.a.b\nmore\n");
    expect(await surroundings().readLine()).toBe("kapi.a.b");
    input = new PassThrough();
    vi.spyOn(process, "stdin", "get").mockReturnValue(input as never);
    input.end();
    expect(await surroundings().readLine()).toBe("");
  });

  it("a question fails with a clear error if the input ends without an answer", async () => {
    input.end();
    await expect(surroundings().ask("Address: ")).rejects.toThrow("No answer was given.");
  });
});
