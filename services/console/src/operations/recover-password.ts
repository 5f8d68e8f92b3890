/** A forgotten password is recovered by a link in a mail. */
import { createHash } from "node:crypto";

import { ApiError } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import { networkOf } from "../domain/network-address.ts";
import type { Mailer, PasswordRecoveries, RecoveryLimits } from "../domain/people-ports.ts";
import type { Passwords, PeopleStore, Users } from "../domain/ports.ts";
import { hashPassword } from "./check-password.ts";
import { hashOfToken, createLinkToken } from "./link-token.ts";

/** Time in which the link of a mail works. */
export const RECOVERY_LIFE_MS = 3_600_000;
/** Maximum number of requests whose mails are being sent. Further requests are only logged. */
export const MAX_PENDING_RECOVERIES = 20;

/** Dependencies of sending a link for a forgotten password, and of setting the new password. */
export interface RecoveryDependencies {
  readonly users: Users;
  readonly store: PeopleStore;
  readonly recoveries: PasswordRecoveries;
  /** Counts requests by e-mail address and by network. */
  readonly recoveryLimits: RecoveryLimits;
  readonly passwords: Passwords;
  readonly clock: Clock;
  /** Null: no mail server. */
  readonly mail: Mailer | null;
  /** Logs that a mail was not sent: the answer to the request does not show that. */
  readonly logMailFailure: (error: unknown) => void;
}

/** Requests for mails. Each is answered before its mail is sent. */
export class PasswordRecovery {
  readonly #dependencies: RecoveryDependencies;
  readonly #running = new Set<Promise<void>>();

  constructor(dependencies: RecoveryDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Sends a link to the user of an e-mail address. Returns before the user is looked up: neither
   * the answer nor its time shows whether the address is known. Sends nothing after too many
   * requests for one e-mail address, or while too many mails are being sent. Throws 429 after too
   * many requests from one network, and 404 without a mail server.
   */
  async request(email: string, address: string): Promise<void> {
    const { recoveryLimits, mail, logMailFailure } = this.#dependencies;
    if (mail === null) throw new ApiError("NOT_FOUND", { text: "This installation sends no mail: ask its operator" });
    const emailHash = createHash("sha256").update(email).digest("hex");
    const { waitMs, isSilent } = await recoveryLimits.count(emailHash, networkOf(address));
    if (waitMs > 0) {
      const headers = { "retry-after": String(Math.ceil(waitMs / 1_000)) };
      throw new ApiError("RATE_LIMITED", { text: "Too many requests for mails; wait a little", headers });
    }
    if (isSilent) return;
    if (this.#running.size >= MAX_PENDING_RECOVERIES) {
      logMailFailure(new Error("too many requests for mails at once"));
      return;
    }
    const sent: Promise<void> = this.#send(email, address)
      .catch(logMailFailure)
      .finally(() => this.#running.delete(sent));
    this.#running.add(sent);
  }

  /** Waits until the mails of answered requests are sent. */
  async finish(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #send(email: string, address: string): Promise<void> {
    const { users, store, clock, mail } = this.#dependencies;
    const user = await users.byEmail(email);
    if (user === null || mail === null) return;
    const { userId, organizationId } = user;
    const { token, tokenHash } = createLinkToken();
    const nowMs = clock.nowMs();
    await store.transaction(async (tx) => {
      await tx.recoveries.put(userId, tokenHash, nowMs + RECOVERY_LIFE_MS);
      const subject = { type: "user", id: userId } as const;
      const action = "user.password_recovery_requested" as const;
      tx.recordAudit([{ actor: null, address, organizationId, action, subject, atMs: nowMs }]);
    });
    const text = [
      `Hello ${user.name},`,
      "Somebody asked for a new password for your kapi console. Open this link within one hour. It works once:",
      mail.linkTo("recover", token),
      "If it was not you, ignore this mail: your password stays.",
    ].join("\n\n");
    await mail.send({ to: email, subject: "A new password for your kapi console", text });
  }
}

/**
 * Sets a new password for the person who got the link, and ends all their sessions. The person
 * keeps the second factor: the next sign-in asks for it. Throws 404 for an unknown, used, replaced
 * or expired link, and 429 as {@link hashPassword}.
 */
export async function completeRecovery(
  { passwords, store, clock, recoveries }: Pick<RecoveryDependencies, "passwords" | "store" | "clock" | "recoveries">,
  { token, newPassword }: { readonly token: string; readonly newPassword: string },
  address: string,
): Promise<void> {
  const tokenHash = hashOfToken(token);
  // Hashing is expensive: the link is checked first.
  if (!(await recoveries.isOpen(tokenHash, clock.nowMs()))) throw linkEnded();
  const passwordHash = await hashPassword(passwords, newPassword);
  const nowMs = clock.nowMs();
  await store.transaction(async (tx) => {
    const userId = await tx.recoveries.use(tokenHash, nowMs);
    const changed = userId === null ? null : await tx.users.setPassword(userId, passwordHash);
    if (userId === null || changed === null) throw linkEnded();
    const self = { type: "user", id: userId } as const;
    const { organizationId } = changed;
    tx.recordAudit([
      { actor: self, address, organizationId, action: "user.password_recovered", subject: self, atMs: nowMs },
    ]);
  });
}

function linkEnded(): ApiError {
  return new ApiError("NOT_FOUND", { text: "This link does not work: it was used or replaced, or it expired" });
}
