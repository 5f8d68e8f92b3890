import { createServer } from "node:http";

import type { ExportRecord } from "@kapi/contracts";

/** The response of an owner: records, or only a status; 404 means that the account is unknown. */
export type OwnerAnswer = readonly ExportRecord[] | number;

/** A stand-in for an owner of history, for responses and failures that are rare in a real one. */
export interface OwnerServer {
  readonly url: string;
  /** Paths with queries of the requests that had a valid token, in order. */
  readonly asked: readonly string[];
  /** Sets the response for `accountNumber`; other accounts have no records. */
  answer(accountNumber: string, answer: OwnerAnswer): void;
  stop(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startOwnerServer(token: string): Promise<OwnerServer> {
  const asked: string[] = [];
  const answers = new Map<string, OwnerAnswer>();
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? "", "http://localhost");
    const known = request.headers["x-service-token"] === token;
    if (known) asked.push(pathname + search);
    const answer = known ? (answers.get(pathname.split("/").at(-2) ?? "") ?? []) : 401;
    const code = answer === 404 ? { "x-error-code": "ACCOUNT_NOT_FOUND" } : {};
    response.writeHead(typeof answer === "number" ? answer : 200, { "content-type": "application/json", ...code });
    response.end(JSON.stringify(typeof answer === "number" ? { error: "test failure" } : { records: answer }));
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
