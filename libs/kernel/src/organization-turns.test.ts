import { expect, it } from "vitest";

import { OrganizationSlots } from "./organization-slots.ts";
import { OrganizationTurns } from "./organization-turns.ts";

const MANY = 50_000;

it("every item gets its turn, in order, also if each item ends at once and offers its slot again", () => {
  const slots = new OrganizationSlots({ perOrganization: 1, total: 1 });
  const turns = new OrganizationTurns<number>(slots);
  for (let item = 0; item < MANY; item += 1) turns.add(item % 2 === 0 ? "one" : "other", item);
  const given: number[] = [];
  const give = (item: number, release: () => void): void => {
    given.push(item);
    release();
    turns.offerSlots(give);
  };
  turns.offerSlots(give);
  expect(given).toEqual(Array.from({ length: MANY }, (_, item) => item));
  expect(turns.size).toBe(0);
});
