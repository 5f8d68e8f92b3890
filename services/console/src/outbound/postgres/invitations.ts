import type { ConsoleInvitation, ConsoleRole } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { Invitations, OpenInvitation } from "../../domain/people-ports.ts";

interface InvitationRow {
  readonly id: string;
  readonly organization_id: string;
  readonly organization_name: string;
  readonly email: string;
  readonly name: string;
  readonly role: ConsoleRole;
  readonly invited_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
}

const COLUMNS = "id, organization_id, organization_name, email, name, role, invited_by, created_at, expires_at";
const DELETE_EXPIRED = statement<Record<string, never>>(
  "invitations_delete_expired",
  `delete from invitations where organization_id = $1 and expires_at <= $2`,
);
const PUT_ROW = statement<Record<string, never>>(
  "invitations_put",
  `insert into invitations
     (id, organization_id, organization_name, email, name, role, token_hash, invited_by, created_at, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   on conflict (organization_id, email) do update set
     id = excluded.id, name = excluded.name, role = excluded.role, token_hash = excluded.token_hash,
     invited_by = excluded.invited_by, created_at = excluded.created_at, expires_at = excluded.expires_at`,
);
const COUNT_OTHERS = statement<{ total: number }>(
  "invitations_count_others",
  `select count(*) as total from invitations where organization_id = $1 and email <> $2 and expires_at > $3`,
);
const SELECT_OF = statement<InvitationRow>(
  "invitations_select_of",
  `select ${COLUMNS} from invitations where organization_id = $1 and expires_at > $2 order by created_at desc, id desc`,
);
const SELECT_BY_TOKEN = statement<InvitationRow>(
  "invitations_select_by_token",
  `select ${COLUMNS} from invitations where token_hash = $1 and expires_at > $2`,
);
const ACCEPT_ROW = statement<InvitationRow>(
  "invitations_accept",
  `delete from invitations where token_hash = $1 and expires_at > $2 returning ${COLUMNS}`,
);
const CANCEL_ROW = statement<InvitationRow>(
  "invitations_cancel",
  `delete from invitations where organization_id = $1 and id = $2 returning ${COLUMNS}`,
);

/** Open invitations in PostgreSQL. */
export function createInvitations(database: Queryable): Invitations {
  return {
    put: async (invitation, nowMs) => {
      const { invitationId, organizationId, organizationName, email, name, role } = invitation;
      const { tokenHash, invitedBy, expiresAtMs } = invitation;
      await database.query(DELETE_EXPIRED, [organizationId, toIso(nowMs)]);
      const who = [invitationId, organizationId, organizationName, email, name, role];
      await database.query(PUT_ROW, [...who, tokenHash, invitedBy, toIso(nowMs), toIso(expiresAtMs)]);
    },
    countOthers: async (organizationId, email, nowMs) =>
      (await database.query(COUNT_OTHERS, [organizationId, email, toIso(nowMs)]))[0]?.total ?? 0,
    list: async (organizationId, nowMs) =>
      (await database.query(SELECT_OF, [organizationId, toIso(nowMs)])).map(shownRow),
    byToken: async (tokenHash, nowMs) => openOrNull(await database.query(SELECT_BY_TOKEN, [tokenHash, toIso(nowMs)])),
    accept: async (tokenHash, nowMs) => openOrNull(await database.query(ACCEPT_ROW, [tokenHash, toIso(nowMs)])),
    cancel: async (organizationId, invitationId) =>
      openOrNull(await database.query(CANCEL_ROW, [organizationId, invitationId])),
  };
}

function openOrNull([row]: readonly InvitationRow[]): OpenInvitation | null {
  if (row === undefined) return null;
  return {
    invitationId: row.id,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    email: row.email,
    name: row.name,
    role: row.role,
    invitedBy: row.invited_by,
  };
}

function shownRow({
  id,
  email,
  name,
  role,
  created_at: createdAt,
  expires_at: expiresAt,
}: InvitationRow): ConsoleInvitation {
  return { id, email, name, role, createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() };
}
