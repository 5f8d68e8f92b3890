/**
 * `npm run bench`, `npm run scenario` and `npm run verify`: runs a sub-command of `commands.json`
 * with all further arguments. Installs missing packages, then runs the sub-command with the
 * checkout's own Node. Plain JavaScript for Node 20 or later, because it runs before the packages
 * are installed.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { ensureDependencies, NODE, ROOT, run, toolEnvironment } from "../deploy/local/bootstrap.mjs";

const USAGE_EXIT_CODE = 2;
/**
 * Groups of sub-commands. A sub-command has the arguments of Node, one line of help, and what else
 * the machine must have.
 */
const GROUPS = JSON.parse(readFileSync(path.join(ROOT, "test", "commands.json"), "utf8"));

/** The sub-commands of a group, one line each. */
function helpOf(groupName) {
  const { title, commands } = GROUPS[groupName];
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(
    ([name, { help, needs }]) => `  ${name.padEnd(width)}  ${help}${needs === undefined ? "" : ` (needs ${needs})`}`,
  );
  return [title, "", `npm run ${groupName} -- <name>`, "", ...lines, "", "Settings: docs/testing.md", ""].join("\n");
}

const [groupName, name, ...args] = process.argv.slice(2);
const { commands } = GROUPS[groupName];
if (name === undefined || name === "--help") {
  process.stdout.write(helpOf(groupName));
} else if (Object.hasOwn(commands, name)) {
  await ensureDependencies();
  process.exitCode = await run(NODE, [...commands[name].node, ...args], toolEnvironment());
} else {
  process.stderr.write(`Unknown sub-command "${name}".\n\n${helpOf(groupName)}`);
  process.exitCode = USAGE_EXIT_CODE;
}
