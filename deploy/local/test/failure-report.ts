/** Prints the logged warnings and errors of the services after a failed test. */
import { afterEach } from "vitest";

import { loggedWarnings } from "./test-stack.ts";

/** Maximum number of printed lines of a service, and of characters of a line. */
const LINES_A_SERVICE = 8;
const LONGEST_LINE = 1_000;

afterEach(({ task }) => {
  if (task.result?.state !== "fail") return;
  const lines = loggedWarnings(LINES_A_SERVICE).map((line) => line.slice(0, LONGEST_LINE));
  if (lines.length > 0) process.stderr.write(`"${task.name}" failed; its services had logged:\n${lines.join("\n")}\n`);
});
