/**
 * Receives webhooks in a process of its own: answers 200 at once, and never on `/hanging`. `GET /take` gives what came since
 * the last one: when each delivery came and how long after its event, in milliseconds since 1970.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const TIMESTAMP = /"timestamp":"([^"]+)"/;

let arrivals: { atMs: number; tookMs: number }[] = [];

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.end(JSON.stringify(arrivals));
    arrivals = [];
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url === "/hanging") return;
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
