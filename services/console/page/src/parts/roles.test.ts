import { CONSOLE_PERMISSIONS, CONSOLE_ROLES, ROLE_PERMISSIONS } from "@kapi/contracts";
import { expect, it } from "vitest";

import { ROLES_WITH, rolesInWords } from "./roles.ts";

it("for each permission the page names exactly the roles that have it", () => {
  for (const permission of CONSOLE_PERMISSIONS) {
    const having = CONSOLE_ROLES.filter((role) => ROLE_PERMISSIONS[role].includes(permission));
    expect(ROLES_WITH[permission]).toEqual(having);
  }
  expect(rolesInWords("money:move")).toBe("owner or finance");
  expect(rolesInWords("of a later release")).toBeNull();
});
