/**
 * `npm run word-counts`: counts the places that still break a rule in `words.json`, and writes the
 * counts there. If a rule has more places than before, the command fails and writes nothing.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";

import { lowered, placesBelow, readRules } from "./words.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

const rules = readRules(ROOT);
const counts = lowered(placesBelow(ROOT, rules), rules);
writeFileSync(path.join(import.meta.dirname, "words.json"), `${JSON.stringify(counts, null, 2)}\n`);
