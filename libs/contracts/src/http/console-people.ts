/**
 * People of an organization in the API of the console: their roles, invitations, second factors,
 * sessions, and the recovery of a password.
 */
import { z } from "zod";

import { ConsoleRole } from "./console-roles.ts";
import { Email, GivenName, SecondFactorCode, SignInBody, UserPassword } from "./console.ts";
import { PageNumbers } from "./pagination.ts";

/** Time in which an invitation can be accepted. */
export const INVITATION_LIFE_MS = 72 * 3_600_000;
/** Maximum number of open invitations of an organization. */
export const MAX_OPEN_INVITATIONS = 100;
/**
 * Number of active people of an organization at which nobody else can be invited, or accept an
 * invitation. The operator can create more.
 */
export const MAX_ACTIVE_PEOPLE = 500;
/** Number of recovery codes that a person gets at once. */
export const RECOVERY_CODES = 10;

/** The form of a token in a link: base64url of 32 bytes. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** The token of a link in a mail or an invitation. */
const LinkToken = z.string().regex(TOKEN, "must be the token of a link");

/** A person of the organization. */
export const ConsolePerson = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string(),
  role: ConsoleRole,
  /** Whether the person has set up two-factor authentication. */
  twoFactor: z.boolean(),
  createdAt: z.iso.datetime(),
  /** Null: never, or before the release that records it. */
  lastSignInAt: z.iso.datetime().nullable(),
  /** Null: active. */
  disabledAt: z.iso.datetime().nullable(),
});
export type ConsolePerson = z.infer<typeof ConsolePerson>;

/** An invitation that nobody has accepted. */
export const ConsoleInvitation = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string(),
  role: ConsoleRole,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
export type ConsoleInvitation = z.infer<typeof ConsoleInvitation>;

/** Answer of GET /people: a page of people, newest first, and all open invitations. */
export const ConsolePeopleAnswer = z.object({
  people: z.array(ConsolePerson),
  pagination: PageNumbers,
  invitations: z.array(ConsoleInvitation),
  /** Whether everybody must set up two-factor authentication. */
  requireTwoFactor: z.boolean(),
});
export type ConsolePeopleAnswer = z.infer<typeof ConsolePeopleAnswer>;

/** Body of POST /people/invitations. An open invitation to the e-mail address is replaced. */
export const InvitePersonBody = z.object({ email: Email, name: GivenName, role: ConsoleRole });
export type InvitePersonBody = z.infer<typeof InvitePersonBody>;

/** Answer of POST /people/invitations. */
export const InvitedPersonAnswer = z.object({
  invitation: ConsoleInvitation,
  /** The token of the link, shown once; null if the link was sent by mail. */
  token: z.string().nullable(),
});
export type InvitedPersonAnswer = z.infer<typeof InvitedPersonAnswer>;

/** Body of PUT /people/:userId/role. */
export const ChangeRoleBody = z.object({ role: ConsoleRole });
/** Body of PUT /people/two-factor-requirement. */
export const RequireTwoFactorBody = z.object({ required: z.boolean() });

/** Body of POST /invitations/open. */
export const LinkBody = z.object({ token: LinkToken });
/** Answer of POST /invitations/open; 404 for an unknown, used or expired link. */
export const InvitationAnswer = z.object({
  email: z.string(),
  name: z.string(),
  role: ConsoleRole,
  organization: z.string(),
});
export type InvitationAnswer = z.infer<typeof InvitationAnswer>;
/** Body of POST /invitations/accept; the answer is a session. */
export const AcceptInvitationBody = LinkBody.extend({ name: GivenName, password: UserPassword });
export type AcceptInvitationBody = z.infer<typeof AcceptInvitationBody>;

/** Answer of GET /sign-in: the ways to sign in. The request needs no session. */
export const SignInOptions = z.object({
  /** Whether a forgotten password can be recovered by mail. */
  passwordRecovery: z.boolean(),
  /** The provider of OpenID Connect; null: none. */
  provider: z.object({ name: z.string() }).nullable(),
  /** True after a correct password, until a code of the second factor completes the sign-in. */
  secondFactorPending: z.boolean(),
});
export type SignInOptions = z.infer<typeof SignInOptions>;

/** Answer 202 of POST /session: the sign-in needs a second factor. */
export const SecondFactorNeeded = z.object({ secondFactorPending: z.literal(true) });
export type SecondFactorNeeded = z.infer<typeof SecondFactorNeeded>;
/** Body of POST /session/second-factor and of POST /two-factor/confirm. */
export const SecondFactorBody = z.object({ code: SecondFactorCode });

/** Body of POST /two-factor: the person proves again who they are. */
export const CurrentPasswordBody = z.object({ currentPassword: SignInBody.shape.password });
/** Body of POST /two-factor/recovery-codes and of POST /two-factor/disable. */
export const CurrentFactorsBody = CurrentPasswordBody.extend({ code: SecondFactorCode });
/** Answer of POST /two-factor: a secret that POST /two-factor/confirm activates. */
export const TwoFactorSecretAnswer = z.object({
  /** In base32. */
  secret: z.string(),
  /** The address that a QR code carries (`otpauth:`). */
  uri: z.string(),
  /** The QR code, as an address of an SVG image (`data:`). */
  qr: z.string(),
});
export type TwoFactorSecretAnswer = z.infer<typeof TwoFactorSecretAnswer>;
/** Recovery codes, shown once. */
export const RecoveryCodesAnswer = z.object({ recoveryCodes: z.array(z.string()) });
export type RecoveryCodesAnswer = z.infer<typeof RecoveryCodesAnswer>;

/** A session of a person. */
export const ConsoleSessionEntry = z.object({
  id: z.string(),
  /** Whether it is the session of this request. */
  current: z.boolean(),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime(),
  /** Network address and `User-Agent` of the sign-in; null: unknown. */
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
});
export type ConsoleSessionEntry = z.infer<typeof ConsoleSessionEntry>;
/** Answer of GET /sessions: the person's own sessions, last used first. */
export const ConsoleSessionsAnswer = z.object({ sessions: z.array(ConsoleSessionEntry) });
export type ConsoleSessionsAnswer = z.infer<typeof ConsoleSessionsAnswer>;

/** Body of POST /password-recovery. The answer is 202 whether or not the address is known. */
export const RecoverPasswordBody = z.object({ email: SignInBody.shape.email });
/** Body of POST /password-recovery/complete. All sessions of the person end. */
export const CompleteRecoveryBody = LinkBody.extend({ newPassword: UserPassword });
