import { DebianPackages, findCommand, LocalError } from "@kapi/servers";

/**
 * The browser of the tests: the one that `CHROMIUM_PATH` names, or this machine's, under the names
 * that it goes by.
 */
const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Time that fetching and installing a browser may take, before the first test. */
export const INSTALL_DEADLINE_MS = 400_000;

/**
 * Where the browser is. Debian's is installed where there is none and that can be done; else one
 * line says what is missing.
 */
export async function chromiumPath(): Promise<string> {
  const given = process.env["CHROMIUM_PATH"];
  if (given !== undefined && given !== "") return given;
  const found = installed();
  if (found !== null) return found;
  const packages = new DebianPackages();
  if (!packages.canInstall) {
    throw new LocalError("The browser tests need Chromium: install it, or name its program in CHROMIUM_PATH.");
  }
  await packages.install("chromium");
  const now = installed();
  if (now === null) throw new LocalError("Debian's chromium was installed, but no program of that name is there.");
  return now;
}

function installed(): string | null {
  for (const name of NAMES) {
    const place = findCommand(name);
    if (place !== null) return place;
  }
  return null;
}
