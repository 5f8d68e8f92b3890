import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { AccountMetricsFrame } from "@kapi/contracts";
import { expect, it } from "vitest";

import { EventStream } from "./event-stream.ts";

/** Large, so that few frames fill the buffers of a connection. */
const FRAME_CHARACTERS = 100_000;
const FRAMES = 1_000;

function frameOf(sequence: number): AccountMetricsFrame {
  return { sequence, accountNumber: "x".repeat(FRAME_CHARACTERS) } as AccountMetricsFrame;
}

it("an event stream keeps only the newest sample while the browser does not read, and sends it when the browser reads again", async () => {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => answered.resolve(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const reading = Promise.withResolvers<IncomingMessage>();
  get({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }, reading.resolve);
  const response = await answered.promise;
  const stream = new EventStream(response);
  const closed = Promise.withResolvers<void>();
  stream.begin({}, closed.resolve);
  const reader = await reading.promise;

  for (let sequence = 1; sequence <= FRAMES; sequence += 1) {
    stream.sample(frameOf(sequence));
    // Lets the server send all data that the connection accepts.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(response.writableLength).toBeLessThan(2 * FRAME_CHARACTERS);
  response.once("drain", () => setImmediate(() => stream.end("restart")));
  let text = "";
  for await (const piece of reader.setEncoding("utf8")) text += String(piece);
  await closed.promise;
  server.close();

  const sequences = [...text.matchAll(/"sequence":(\d+)/g)].map(([, sequence]) => Number(sequence));
  expect(sequences.length).toBeLessThan(FRAMES);
  expect(sequences.at(-1)).toBe(FRAMES);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  expect(text).toContain('event: end\ndata: {"reason":"restart"}');
});
