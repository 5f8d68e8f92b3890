import { readFileSync } from "node:fs";

import { ERRORS, HTTP_ERROR_GUIDE, LIVE_CLOSE_CODES } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { renderPage } from "./markdown.ts";
import { DocsSite } from "./site.ts";

const site = new DocsSite();
const CONSOLE_CODES = new Set(["CROSS_SITE_REQUEST", "MISSING_PERMISSION", "VERSION_CHANGED"]);

describe("the documentation site", () => {
  it.each(site.paths())("renders the page “%s” with its title", (path) => {
    const { title, html } = site.page(path);
    expect(title.length).toBeGreaterThan(2);
    expect(html).toContain("<h1");
    expect(site.file(path)?.text).toContain(`<title>${title} · kapi</title>`);
  });

  it("has no link that leads nowhere, and no anchor that does not exist", () => {
    expect(site.brokenLinks()).toEqual([]);
  });

  it("has a page for every error code that a caller of the API can meet", () => {
    const paths = site.paths();
    for (const code of Object.keys(ERRORS).filter((each) => !CONSOLE_CODES.has(each))) {
      expect(paths, code).toContain(`errors/${code}`);
      expect(site.page(`errors/${code}`).html).toContain("What to do");
    }
    expect(Object.keys(HTTP_ERROR_GUIDE)).toEqual(Object.keys(ERRORS));
    expect(site.page("errors").html).toContain('href="/docs/errors/INSUFFICIENT_FUNDS"');
  });

  it("has a page for every close code of the live stream", () => {
    for (const code of Object.values(LIVE_CLOSE_CODES)) {
      expect(site.page(`errors/${code}`).html).toContain("What to do");
      expect(site.page("errors").html).toContain(`href="/docs/errors/${code}"`);
    }
  });

  it.each([
    ["NOT_FOUND", "nothing"],
    ["WALLET_NOT_FOUND", "nothing"],
    ["METHOD_NOT_ALLOWED", "nothing"],
    ["RATE_LIMITED", "nothing"],
    ["INTERNAL", "nothing"],
    ["ACCOUNT_NOT_FOUND", "the price of a read"],
    ["SERVER_DISABLED", "the price of a read"],
  ])("says what an answer with %s costs: %s", (code, cost) => {
    expect(site.page(`errors/${code}`).html).toContain(`<strong>Cost:</strong> ${cost}.`);
  });

  it("describes each page by its first paragraph", () => {
    const texts = site
      .paths()
      .map((path) => /<meta name="description" content="([^"]+)">/.exec(site.file(path)?.text ?? "")?.[1]);
    for (const text of texts) expect(text?.length).toBeGreaterThan(20);
    expect(texts[0]).toMatch(/^kapi is the API through which your backend manages trading accounts\./);
  });

  it("has every page in the search index, and the page of an error under its code", () => {
    const index = JSON.parse(site.file("search.json")?.text ?? "") as { address: string; heading: string }[];
    expect(new Set(index.map(({ address }) => address.split("#")[0])).size).toBe(site.paths().length);
    const headings = index.map(({ heading }) => heading);
    expect(headings).toContain("Catch up by the feed");
    expect(headings).toContain("INSUFFICIENT_CREDITS");
    expect(headings).not.toContain("As the answer to a request");
  });

  it("serves the examples as plain text, at the addresses that its pages link to", () => {
    for (const [page, example] of [
      ["webhooks", "examples/webhook-receiver.ts"],
      ["live-metrics", "examples/live-metrics-client.ts"],
      ["evidence", "examples/evidence/README.md"],
    ] as const) {
      expect(site.page(page).html).toContain(`href="/docs/${example}"`);
      expect(site.file(example)).toEqual({
        contentType: "text/plain; charset=utf-8",
        text: readFileSync(new URL(`../../../../../../docs/${example}`, import.meta.url), "utf8"),
      });
    }
  });

  it("has no file at a path that is not a page, an asset or an example", () => {
    for (const path of [
      "nothing",
      "examples",
      "examples/",
      "examples/../start.md",
      "examples/nothing.ts",
      "errors/NOTHING",
      "../package.json",
      "assets/site.ts",
      "assets/../site.ts",
    ]) {
      expect(site.file(path), path).toBeNull();
    }
  });
});

describe("a page", () => {
  const nowhere = (): null => null;

  it("shows the same example in several languages as one group", () => {
    const { html } = renderPage(
      "# A\n\n```sh run\ncurl x\n```\n\n```ts run\nawait x();\n```\n\nText.\n\n```json\n{}\n```\n",
      nowhere,
    );
    expect(html.match(/class="tabs"/g)).toHaveLength(1);
    expect(html.match(/data-tab=/g)).toHaveLength(2);
    expect(html.match(/<pre/g)).toHaveLength(3);
  });

  it("turns links to files that are not on the site into plain text", () => {
    const { html } = renderPage("# A\n\nSee [the code](../src/x.ts) and [b](b.md#c).", (target) =>
      target.startsWith("b.md") ? "/docs/b#c" : null,
    );
    expect(html).toContain('See the code and <a href="/docs/b#c">b</a>.');
  });

  it("escapes HTML in a text", () => {
    expect(renderPage("# A <script>\n\n`<b>`\n\n<i>x</i>", nowhere).html).not.toMatch(/<(script|b|i)>/);
  });

  it("links each heading below the title to itself", () => {
    const { html, headings } = renderPage("# A\n\n## `b`, or c\n\nText.", nowhere);
    expect(html).toContain('<a class="anchor" href="#b-or-c" aria-label="Link to “b, or c”">#</a></h2>');
    expect(html).toContain("A</h1>");
    expect(headings).toEqual([{ level: 2, text: "b, or c", anchor: "b-or-c" }]);
  });

  it("gives headings with equal texts different anchors", () => {
    const { headings } = renderPage("# A\n\n## Events\n\n## Events\n\n### `account.created`, of course", nowhere);
    expect(headings.map(({ anchor }) => anchor)).toEqual(["events", "events-1", "accountcreated-of-course"]);
  });
});
