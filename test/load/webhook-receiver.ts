/**
 * Receives webhooks in a process of its own and answers 200 at once, on `/can-hang` not between
 * `GET /hang` and `GET /answer`. `GET /take` gives what came since the last one, but on
 * `/can-hang`: when each delivery came and how long after its event, in milliseconds since 1970.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const TIMESTAMP = /"timestamp":"([^"]+)"/;

let arrivals: { atMs: number; tookMs: number }[] = [];

let hangs = false;
const held: ServerResponse[] = [];

/** Answers a setting that came over `GET`. */
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
