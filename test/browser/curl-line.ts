/** The command beside a new key, asked for as a shell would read it. */

/** How long a revoked key may still be let in, anywhere (decisions, 12). */
export const REVOKED_WITHIN_MS = 2_000;

/** What the line looks like: nothing in it needs more quoting than it has. */
export const CURL_LINE = /^curl -s (\S+) -H 'Authorization: ([^']+)'$/;

/** Asks what the line asks. */
export function ask(line: string): Promise<Response> {
  const [, url = "", authorization = ""] = CURL_LINE.exec(line) ?? [];
  return fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(REVOKED_WITHIN_MS) });
}
