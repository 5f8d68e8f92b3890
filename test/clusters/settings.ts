const WRONGS = ["amount", "charge", "command", "delivery", "ending", "live"] as const;
type Wrong = (typeof WRONGS)[number];

/** What a run is made of; every value can be set by the environment. */
export interface Settings {
  readonly minutes: number;
  /** Fixes the choices of operations and faults. */
  readonly seed: number;
  /** Operations a second. */
  readonly rate: number;
  readonly organizations: number;
  readonly accountsEach: number;
  /** Services that run as two processes. */
  readonly twice: readonly string[];
  /** Only faults whose name holds one of these texts; all where it is empty. */
  readonly faults: readonly string[];
  /** A wrong expectation on purpose, which must make the run red. */
  readonly wrong: "" | Wrong;
}

/**
 * CLUSTERS_MINUTES (30), CLUSTERS_SEED, CLUSTERS_RATE (100) and so on, as the README of this folder
 * says.
 */
export function settingsOf(env: Readonly<Record<string, string | undefined>>): Settings {
  const list = (name: string, fallback: string): string[] =>
    (env[name] ?? fallback).split(",").filter((entry) => entry !== "");
  const wrong = env["CLUSTERS_WRONG"] ?? "";
  if (!isWrong(wrong)) throw new Error(`CLUSTERS_WRONG is "${wrong}"; it can be ${WRONGS.join(", ")}.`);
  return {
    minutes: Number(env["CLUSTERS_MINUTES"] ?? 30),
    seed: Number(env["CLUSTERS_SEED"] ?? Date.now() % 1_000_000),
    rate: Number(env["CLUSTERS_RATE"] ?? 100),
    organizations: Number(env["CLUSTERS_ORGANIZATIONS"] ?? 6),
    accountsEach: Number(env["CLUSTERS_ACCOUNTS"] ?? 10),
    twice: list("CLUSTERS_TWICE", "command-status,finance"),
    faults: list("CLUSTERS_FAULTS", ""),
    wrong,
  };
}

function isWrong(text: string): text is Settings["wrong"] {
  return text === "" || WRONGS.some((wrong) => wrong === text);
}
