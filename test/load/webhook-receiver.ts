/**
 * Receives webhooks in a separate process and answers 200 immediately. After `GET /hang` it does
 * not answer deliveries to `/can-hang`, until `GET /answer`. `GET /take` returns the deliveries to
 * other paths since the last `GET /take`: the time of each in milliseconds since 1970, and the
 * milliseconds since its event.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const TIMESTAMP = /"timestamp":"([^"]+)"/;

let arrivals: { atMs: number; tookMs: number }[] = [];

let hangs = false;
const held: ServerResponse[] = [];

/** Answers the `GET` requests that control this receiver. */
function answerSetting(path: string | undefined, response: ServerResponse): void {
  if (path === "/take") {
    response.end(JSON.stringify(arrivals));
    arrivals = [];
    return;
  }
  hangs = path === "/hang";
  if (!hangs) for (const one of held.splice(0)) one.end();
  response.end();
}

const server = createServer((request, response) => {
  if (request.method === "GET") return answerSetting(request.url, response);
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url === "/can-hang") {
      if (hangs) held.push(response);
      else response.end();
      return;
    }
    const atMs = Date.now();
    const happened = TIMESTAMP.exec(Buffer.concat(chunks).toString("utf8"))?.[1] ?? "";
    arrivals.push({ atMs, tookMs: atMs - Date.parse(happened) });
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
process.once("SIGTERM", () => process.exit(0));
