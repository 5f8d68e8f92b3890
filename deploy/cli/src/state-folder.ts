import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const STATE_FOLDER = ".local";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the kapi that runs from this checkout keeps its state; KAPI_STATE_DIR says where else. */
export function stateFolder(environment: Environment): string {
  return path.resolve(ROOT, environment["KAPI_STATE_DIR"] ?? STATE_FOLDER);
}
