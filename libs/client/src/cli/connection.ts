/**
 * Where the command line finds kapi: options, variables, a stored profile, or a kapi on this
 * machine.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

import { UsageError } from "./exit.ts";
import type { Connection, Surroundings } from "./surroundings.ts";

const DEFAULT_PROFILE = "default";
/** Only the owner can read the file: it contains a key. */
const OWNER_ONLY = 0o600;
const FOLDER_MODE = 0o700;

/**
 * A stored profile: a connection, and the secret of `kapi listen`. A profile that only
 * `kapi listen` wrote has no connection.
 */
export interface Profile extends Partial<Connection> {
  readonly webhookSecret?: string | undefined;
}

type Profiles = Readonly<Record<string, Profile>>;

/** Reads and writes profiles. */
export class ProfileStore {
  readonly file: string;

  constructor({ environment }: Pick<Surroundings, "environment">) {
    const folder = environment["XDG_CONFIG_HOME"] ?? path.join(environment["HOME"] ?? homedir(), ".config");
    this.file = path.join(folder, "kapi", "config.json");
  }

  /** Returns a profile, or null. @throws UsageError for a file that cannot be read. */
  read(name = DEFAULT_PROFILE): Profile | null {
    return this.#all()[name] ?? null;
  }

  /** Stores a profile, and replaces an earlier profile with this name. */
  write(profile: Profile, name = DEFAULT_PROFILE): void {
    this.#store({ ...this.#all(), [name]: profile });
  }

  /** Removes a profile. Returns whether it existed. */
  remove(name = DEFAULT_PROFILE): boolean {
    const { [name]: removed, ...others } = this.#all();
    if (removed === undefined) return false;
    this.#store(others);
    return true;
  }

  #all(): Profiles {
    if (!existsSync(this.file)) return {};
    try {
      return (JSON.parse(readFileSync(this.file, "utf8")) as { profiles?: Profiles }).profiles ?? {};
    } catch (error) {
      throw new UsageError(`${this.file} cannot be read: ${String(error)}. Remove it, then run kapi login.`);
    }
  }

  #store(profiles: Profiles): void {
    mkdirSync(path.dirname(this.file), { recursive: true, mode: FOLDER_MODE });
    // A new file: an existing file would keep its mode, and a reader could see half of the text.
    const file = `${this.file}.${process.pid}`;
    writeFileSync(file, `${JSON.stringify({ profiles }, null, 2)}\n`, { mode: OWNER_ONLY });
    renameSync(file, this.file);
  }
}

/** Options that most commands have. */
export interface GlobalOptions {
  readonly profile?: string;
  readonly server?: string;
  readonly json?: true;
}

/**
 * Returns the connection of a command. Environment variables win over profiles, and `--server` wins
 * over KAPI_SERVER. In a checkout of the repository, the kapi that `npm start` runs there wins over
 * the default profile, so that a trial never reaches another kapi.
 * @throws UsageError without an address or a key, and for a named profile without a stored key.
 */
export async function connectionOf(
  surroundings: Surroundings,
  { profile, server }: GlobalOptions,
): Promise<Connection> {
  const { environment } = surroundings;
  const stored = new ProfileStore(surroundings).read(profile);
  const isSignedIn = stored?.key !== undefined;
  if (profile !== undefined && !isSignedIn)
    throw new UsageError(`No key is stored for profile ${profile}: run kapi login --profile ${profile}.`);
  const isComplete = environment["KAPI_URL"] !== undefined && environment["KAPI_KEY"] !== undefined;
  const local = isComplete || profile !== undefined ? null : ((await surroundings.fallback?.()) ?? null);
  const known: Partial<Connection> = { ...stored, ...local };
  const baseUrl = environment["KAPI_URL"] ?? known.baseUrl;
  // A stored key is sent only to the kapi that it was stored for.
  const found = baseUrl === known.baseUrl ? known : {};
  const key = environment["KAPI_KEY"] ?? found.key;
  if (baseUrl === undefined || key === undefined) {
    throw new UsageError("No kapi is known: run kapi login, or set KAPI_URL and KAPI_KEY.");
  }
  return {
    baseUrl,
    key,
    liveUrl: environment["KAPI_LIVE_URL"] ?? found.liveUrl,
    serverId: server ?? environment["KAPI_SERVER"] ?? found.serverId,
    controlUrl: environment["KAPI_CONTROL_URL"] ?? found.controlUrl,
    controlToken: environment["KAPI_CONTROL_TOKEN"] ?? found.controlToken,
  };
}
