import { expect } from "vitest";

import { severeViolations, sidewaysPixels } from "./accessibility.ts";
import { NARROW, type Person, WIDE } from "./person.ts";

const SCHEMES = ["light", "dark"] as const;
/**
 * Each width, and the colour scheme in which axe audits it. One audit of each width and scheme is
 * enough: colours do not depend on the width, and the layout does not depend on the scheme.
 */
const LOOKS = [
  [WIDE, "light"],
  [NARROW, "dark"],
] as const;

/**
 * Checks the look of the current page: takes a screenshot in both widths and both schemes, expects
 * no severe violation from axe, and expects no horizontal scrolling.
 */
export async function look(person: Person, name: string): Promise<void> {
  await person.settled();
  for (const [size, audited] of LOOKS) {
    await person.page.setViewportSize(size);
    for (const colorScheme of SCHEMES) {
      await person.page.emulateMedia({ colorScheme });
      await person.screenshot(`${name}-${size.width}-${colorScheme}`);
      if (colorScheme === audited) expect(await severeViolations(person.page)).toEqual([]);
    }
    expect(await sidewaysPixels(person.page)).toBe(0);
  }
}
