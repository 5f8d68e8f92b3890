import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { expect, it } from "vitest";

import { runOperatorCommandLine } from "./program.ts";

it("Ctrl-C ends a command of the operator at once, although the service does not answer", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const stopped = new AbortController();
  silent.once("connection", (socket) => {
    socket.unref();
    stopped.abort();
  });
  let errors = "";
  const code = await runOperatorCommandLine(["admin", "organization", "list"], {
    environment: {
      ORGANIZATION_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      OPERATOR_TOKEN: "operator-token",
    },
    out: () => undefined,
    err: (text) => void (errors += text),
    ask: () => Promise.reject(new Error("no question is expected")),
    readLine: () => Promise.reject(new Error("no input is expected")),
    isTerminal: false,
    columns: 80,
    nowMs: () => Date.now(),
    signal: stopped.signal,
  });
  expect({ code, errors }).toEqual({ code: 3, errors: expect.stringContaining("Stopped") });
  silent.close();
});
