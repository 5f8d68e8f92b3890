/**
 * Ports for invitations, second factors, recovery of passwords, settings of organizations, mails
 * and OpenID Connect.
 */
import type { ConsoleInvitation, ConsoleRole } from "@kapi/contracts";
import type { SealedPassword } from "@kapi/kernel";

/** An invitation before it is stored. */
export interface NewInvitation {
  readonly invitationId: string;
  readonly organizationId: string;
  readonly organizationName: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  readonly role: ConsoleRole;
  /** SHA-256 of the token of the link, in hex. */
  readonly tokenHash: string;
  /** User id of the owner. */
  readonly invitedBy: string;
  readonly expiresAtMs: number;
}

/** An open invitation. */
export type OpenInvitation = Omit<NewInvitation, "tokenHash" | "expiresAtMs">;

/** Open invitations of all organizations. */
export interface Invitations {
  /**
   * Replaces the organization's open invitation of the e-mail address. Deletes the organization's
   * expired invitations.
   */
  put(invitation: NewInvitation, nowMs: number): Promise<void>;
  /** Number of open invitations of the organization, without the one of `email`. */
  countOthers(organizationId: string, email: string, nowMs: number): Promise<number>;
  /** Newest first. */
  list(organizationId: string, nowMs: number): Promise<ConsoleInvitation[]>;
  byToken(tokenHash: string, nowMs: number): Promise<OpenInvitation | null>;
  /** Deletes an invitation and returns it; null if it is not open. Only one caller gets it. */
  accept(tokenHash: string, nowMs: number): Promise<OpenInvitation | null>;
  /** Returns the deleted invitation; null if there is none. */
  cancel(organizationId: string, invitationId: string): Promise<Pick<OpenInvitation, "email" | "role"> | null>;
}

/** The second factor of a person. */
export interface StoredSecondFactor {
  readonly secret: SealedPassword;
  readonly isConfirmed: boolean;
  /** The time step of the last code that was accepted. */
  readonly lastStep: number;
}

/** Second factors and recovery codes of all people. */
export interface SecondFactors {
  read(userId: string): Promise<StoredSecondFactor | null>;
  /** Stores a secret that is not confirmed; false if the person has a confirmed one. */
  begin(userId: string, secret: SealedPassword): Promise<boolean>;
  /** Activates the secret; false if another call has activated, replaced or removed it. */
  confirm(userId: string, secret: SealedPassword, step: number, nowMs: number): Promise<boolean>;
  /**
   * Records that a code was used; false if a code of this step or of a later step was used, or if
   * the person has no confirmed second factor.
   */
  useStep(userId: string, step: number): Promise<boolean>;
  /** Deletes a recovery code; false if the person does not have it. */
  useRecoveryCode(userId: string, codeHash: string): Promise<boolean>;
  /** Replaces all recovery codes; false if the person has no confirmed second factor. */
  replaceRecoveryCodes(userId: string, codeHashes: readonly string[]): Promise<boolean>;
  /** Deletes the second factor and recovery codes; false if no second factor was confirmed. */
  remove(userId: string): Promise<boolean>;
}

/** Links for forgotten passwords. */
export interface PasswordRecoveries {
  /** Replaces an earlier link of the person. */
  put(userId: string, tokenHash: string, expiresAtMs: number): Promise<void>;
  isOpen(tokenHash: string, nowMs: number): Promise<boolean>;
  /** Deletes a link and returns its person; null if the link is unknown or expired. */
  use(tokenHash: string, nowMs: number): Promise<string | null>;
}

/** What owners decide for their organization. */
export interface OrganizationSettings {
  requiresTwoFactor(organizationId: string): Promise<boolean>;
  requireTwoFactor(organizationId: string, required: boolean): Promise<void>;
}

/** A mail to one person, as plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends one mail. Rejects if the mail server did not accept it in time. */
export type SendMail = (mail: Mail) => Promise<void>;

/** Mails with links to pages of the console. */
export interface Mailer {
  readonly send: SendMail;
  /** The address of a page with `token` in the fragment, which no server and no log gets. */
  readonly linkTo: (page: "accept" | "recover", token: string) => string;
}

/** Counts requests for mails, so that nobody can flood a mailbox or the mail server. */
export interface RecoveryLimits {
  /**
   * Counts a request. `waitMs` above 0: there are too many requests from this network, and this
   * request does not count for the e-mail address. Otherwise `isSilent` tells whether there are too
   * many requests for the e-mail address. The answer to the browser must not show that.
   */
  count(emailHash: string, network: string): Promise<{ readonly waitMs: number; readonly isSilent: boolean }>;
}

/** Values of one sign-in, with which `finish` checks the answer of the provider. */
export interface ProviderChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The provider of OpenID Connect. */
export interface IdentityProvider {
  /**
   * Begins a sign-in: returns the address at the provider to which the browser is sent, and the
   * checks for `finish`.
   */
  begin(): Promise<ProviderChecks & { readonly location: string }>;
  /**
   * The verified e-mail address of the person, in lower case; null if the provider has not verified
   * it. `query` is the query of the provider's answer. Rejects if a check fails, or if the provider
   * does not answer.
   */
  finish(query: string, checks: ProviderChecks): Promise<string | null>;
}
