/** `npm stop`: stops the kapi of this checkout, or what a killed kapi has left running. */
import path from "node:path";

import { stopRecorded } from "@kapi/servers";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const stateDir = path.resolve(ROOT, process.env["KAPI_STATE_DIR"] ?? ".local");
console.log((await stopRecorded(stateDir)) ? "kapi is stopped" : "kapi was not running");
