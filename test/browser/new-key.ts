/** Creates a key on the page of keys, and sends the request of the shown curl command. */
import type { Person } from "./person.ts";

/** Maximum time for which a revoked key may still work (decisions, 12). */
export const REVOKED_WITHIN_MS = 2_000;

/** The shown curl command. The URL and the header need no other quoting. */
export const CURL_LINE = /^curl -s (\S+) -H 'Authorization: ([^']+)'$/;

/** Sends the request of the command. */
export function ask(line: string): Promise<Response> {
  const [, url = "", authorization = ""] = CURL_LINE.exec(line) ?? [];
  return fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(REVOKED_WITHIN_MS) });
}

/** Creates a key that can read the balance, and returns the shown curl command. */
export async function makeKey(person: Person, name: string): Promise<string> {
  await person.button("Create a key").click();
  await person.page.getByLabel("Name", { exact: true }).fill(name);
  await person.page.getByRole("checkbox", { name: /credits:read/ }).check();
  await person.page.getByLabel("Expires").selectOption("In 30 days");
  await person.button("Create key").click();
  return person.page.getByRole("region", { name: "A request with the new key" }).innerText();
}
