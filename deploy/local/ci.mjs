/**
 * Checks a checkout: installs the dependencies, runs the gates and the tests of `npm test`, and
 * prints one line with the numbers of passed and failed tests. With QUOTES_FILE=<csv> the tests
 * also replay these recorded quotes.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

import { ensureDependencies, ROOT, run, toolEnvironment } from "./bootstrap.mjs";

const RESULTS = path.join(ROOT, ".local", "test-results.json");

await ensureDependencies();
const environment = { ...toolEnvironment(), CI: "true" };
// The gates do not run the unit tests: these run below, with all other tests.
const checked = await run("npm", ["run", "gates"], environment);
mkdirSync(path.dirname(RESULTS), { recursive: true });
rmSync(RESULTS, { force: true });
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${RESULTS}`];
const tested = await run("npm", ["test", "--", ...reporters], environment);
const { passed, failed } = counts();
if (checked !== 0) console.log("npm run gates failed; its output is above.");
console.log(`${passed} passed, ${failed} failed`);
process.exit(checked === 0 && tested === 0 && failed === 0 ? 0 : 1);

/** The counts of vitest. A test file that could not be run at all counts as one failed test. */
function counts() {
  if (!existsSync(RESULTS)) return { passed: 0, failed: 1 };
  const results = JSON.parse(readFileSync(RESULTS, "utf8"));
  const broken = results.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  return { passed: results.numPassedTests, failed: results.numFailedTests + broken.length };
}
