/** A key made on the page of keys, and the command beside it, read as a shell would read it. */
import type { Person } from "./person.ts";

/** How long a revoked key may still be let in, anywhere (decisions, 12). */
export const REVOKED_WITHIN_MS = 2_000;

/** What the line looks like: nothing in it needs more quoting than it has. */
export const CURL_LINE = /^curl -s (\S+) -H 'Authorization: ([^']+)'$/;

/** Asks what the line asks. */
export function ask(line: string): Promise<Response> {
  const [, url = "", authorization = ""] = CURL_LINE.exec(line) ?? [];
  return fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(REVOKED_WITHIN_MS) });
}

/** Makes a key that may read the balance, on the page of keys; gives the line beside it. */
export async function makeKey(person: Person, name: string): Promise<string> {
  await person.button("Create a key").click();
  await person.page.getByLabel("Name", { exact: true }).fill(name);
  await person.page.getByRole("checkbox", { name: /credits:read/ }).check();
  await person.page.getByLabel("Expires").selectOption("In 30 days");
  await person.button("Create key").click();
  return person.page.getByRole("region", { name: "A request with the new key" }).innerText();
}
