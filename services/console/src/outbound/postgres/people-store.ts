import type { Database } from "@kapi/postgres";

import type { PeopleStore } from "../../domain/ports.ts";
import { insertAudit } from "./audit-log.ts";
import { createInvitations } from "./invitations.ts";
import { createOrganizationSettings, createPasswordRecoveries, createSecondFactors } from "./second-factors.ts";
import { createUsers } from "./users.ts";

/** People and the audit log in PostgreSQL: a change and its entry in one transaction. */
export function createPeopleStore(database: Database): PeopleStore {
  return {
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          users: createUsers(tx),
          invitations: createInvitations(tx),
          secondFactors: createSecondFactors(tx),
          recoveries: createPasswordRecoveries(tx),
          settings: createOrganizationSettings(tx),
          recordAudit: (records) => insertAudit(tx, records),
        }),
      ),
  };
}
