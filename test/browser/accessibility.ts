import axe from "axe-core";
import type { Page } from "playwright-core";

const SEVERE = new Set(["serious", "critical"]);

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/**
 * What axe finds wrong with the page as it is, severe violations only; one text each, with the
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
 * How many pixels of the page are beyond its right edge: 0 where nothing has to be scrolled
 * sideways.
 */
export async function sidewaysPixels(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
