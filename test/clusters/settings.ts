/** Names of the intended errors, which `wrong.ts` injects. */
const WRONGS = ["amount", "breach", "charge", "command", "delivery", "ending", "live"] as const;
type Wrong = (typeof WRONGS)[number];

/** The settings of a run. An environment variable can set each of them. */
export interface Settings {
  readonly minutes: number;
  /** Determines the random choices of operations and faults. */
  readonly seed: number;
  /** Operations a second. */
  readonly rate: number;
  readonly organizations: number;
  readonly accountsEach: number;
  /** Services that run as two processes. */
  readonly twice: readonly string[];
  /** Only faults whose name contains one of these texts; all faults if the list is empty. */
  readonly faults: readonly string[];
  /** An intended error, or "". With an error the run must exit with 1. */
  readonly wrong: "" | Wrong;
}

/** Reads the CLUSTERS_ variables, which the README of this folder describes. */
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
    twice: list("CLUSTERS_TWICE", "command-status,finance,risk"),
    faults: list("CLUSTERS_FAULTS", ""),
    wrong,
  };
}

function isWrong(text: string): text is Settings["wrong"] {
  return text === "" || WRONGS.some((wrong) => wrong === text);
}
