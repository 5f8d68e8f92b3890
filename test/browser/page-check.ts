import { expect } from "vitest";

import { severeViolations, overflowPixels } from "./accessibility.ts";
import { NARROW, type ConsoleUser, WIDE } from "./console-user.ts";

const SCHEMES = ["light", "dark"] as const;
/**
 * Each width, and the colour scheme in which axe audits it. Axe audits only these two of the four
 * combinations: colours do not depend on the width, and the layout does not depend on the scheme.
 */
const AUDITED_SCHEMES = [
  [WIDE, "light"],
  [NARROW, "dark"],
] as const;

/**
 * Checks the layout and the accessibility of the current page: takes a screenshot in both widths
 * and both schemes, expects no severe violation from axe, and expects no horizontal scrolling. The
 * page stays narrow and dark afterwards.
 */
export async function checkPage(user: ConsoleUser, name: string): Promise<void> {
  await user.settled();
  for (const [size, audited] of AUDITED_SCHEMES) {
    await user.page.setViewportSize(size);
    for (const colorScheme of SCHEMES) {
      await user.page.emulateMedia({ colorScheme });
      await user.screenshot(`${name}-${size.width}-${colorScheme}`);
      if (colorScheme === audited) expect(await severeViolations(user.page)).toEqual([]);
    }
    expect(await overflowPixels(user.page)).toBe(0);
  }
}
