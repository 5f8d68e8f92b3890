import { expect } from "vitest";

import { severeViolations, sidewaysPixels } from "./accessibility.ts";
import { NARROW, type Person, WIDE } from "./person.ts";

const SCHEMES = ["light", "dark"] as const;
/**
 * Widths, and the scheme in which each is audited: colours are the same in both widths, and places
 * in both schemes.
 */
const LOOKS = [
  [WIDE, "light"],
  [NARROW, "dark"],
] as const;

/**
 * Looks at the page as it is now: a screenshot in both widths and both schemes; axe finds nothing
 * severe, and nothing has to be scrolled sideways.
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
