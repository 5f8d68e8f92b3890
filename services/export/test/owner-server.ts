import { createServer } from "node:http";

import type { ExportRecord } from "@kapi/contracts";

/** What an owner of history answers: records, or a status alone. */
export type OwnerAnswer = readonly ExportRecord[] | number;

/**
 * A stand-in for an owner of history, for answers and failures that a real one gives only now and
 * then.
 */
export interface OwnerServer {
  readonly url: string;
  /** Paths with their queries, in the order in which they were asked for with the right token. */
  readonly asked: readonly string[];
  /**
   * From now on this is the answer about `accountNumber`; one that was never told of has no
   * records.
   */
  answer(accountNumber: string, answer: OwnerAnswer): void;
  stop(): Promise<void>;
}

/** Starts it on a free port. */
export async function startOwnerServer(token: string): Promise<OwnerServer> {
  const asked: string[] = [];
  const answers = new Map<string, OwnerAnswer>();
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? "", "http://localhost");
    const known = request.headers["x-service-token"] === token;
    if (known) asked.push(pathname + search);
    const answer = known ? (answers.get(pathname.split("/").at(-2) ?? "") ?? []) : 401;
    response.writeHead(typeof answer === "number" ? answer : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(typeof answer === "number" ? { error: "told to" } : { records: answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    answer: (accountNumber, answer) => answers.set(accountNumber, answer),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
