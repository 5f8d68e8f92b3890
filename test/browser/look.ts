import { expect } from "vitest";

import { severeFindings, sidewaysPixels } from "./accessibility.ts";
import { NARROW, type Person, WIDE } from "./person.ts";

const SCHEMES = ["light", "dark"] as const;
/** Widths, and the scheme in which each is audited. */
const LOOKS = [
  [WIDE, "light"],
  [NARROW, "dark"],
] as const;

/**
 * Looks at the page as it is now, in both widths and both schemes, and keeps a picture of each: nothing has to be scrolled
 * sideways, and axe finds nothing serious, in one scheme of each width, colours being the same in both.
 */
export async function look(person: Person, name: string): Promise<void> {
  await person.settled();
  for (const [size, audited] of LOOKS) {
    await person.page.setViewportSize(size);
    for (const colorScheme of SCHEMES) {
      await person.page.emulateMedia({ colorScheme });
      await person.screenshot(`${name}-${size.width}-${colorScheme}`);
      if (colorScheme === audited) expect(await severeFindings(person.page)).toEqual([]);
    }
    expect(await sidewaysPixels(person.page)).toBe(0);
  }
}
