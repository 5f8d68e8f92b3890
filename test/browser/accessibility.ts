import axe from "axe-core";
import type { Page } from "playwright-core";

const SEVERE = new Set(["serious", "critical"]);

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/**
 * Returns the severe violations that axe finds on the current page: one text for each violation and
 * element.
 */
export async function severeViolations(page: Page): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) !== "object") await page.evaluate(axe.source);
  const violations = await page.evaluate<Violation[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return violations
    .filter(({ impact }) => impact !== null && SEVERE.has(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`));
}

/**
 * Returns how far the page extends beyond the right edge of the window, in pixels. 0: the page does
 * not scroll horizontally.
 */
export async function overflowPixels(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
