import { DebianPackages, findCommand, LocalError } from "@kapi/servers";

/** Command names of the browser. `CHROMIUM_PATH` overrides them. */
const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Time limit of the preparation of a test file, which may have to install a browser. */
export const INSTALL_DEADLINE_MS = 400_000;

/**
 * Returns the path of the browser. On Debian, a missing browser is installed if this process runs
 * as root.
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
  if (now === null) {
    throw new LocalError(`Debian's chromium was installed, but none of these programs was found: ${NAMES.join(", ")}.`);
  }
  return now;
}

function installed(): string | null {
  for (const name of NAMES) {
    const program = findCommand(name);
    if (program !== null) return program;
  }
  return null;
}
