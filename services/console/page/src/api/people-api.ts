/**
 * Requests about the people of the organization, and about the sign-in of the person at the page
 * (contracts, `http/console-people.ts`).
 */
import { type Client, queryOf } from "./client.ts";
import type {
  ConsoleInvitation,
  ConsolePeopleAnswer,
  ConsoleRole,
  ConsoleSession,
  ConsoleSessionEntry,
  InvitationAnswer,
  InvitedPersonAnswer,
  InvitePersonBody,
  RecoveryCodesAnswer,
  SecondFactorNeeded,
  SignInOptions,
  TwoFactorSecretAnswer,
} from "./shapes.ts";

const person = (userId: string): string => `/people/${encodeURIComponent(userId)}`;

/** The password and, if the person has a second factor, a code. */
export interface Factors {
  readonly currentPassword: string;
  readonly code?: string;
}

/** Requests about people. All throw a `Failure` on error. */
export class PeopleApi {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  signInOptions(signal: AbortSignal): Promise<SignInOptions> {
    return this.#client.request("/sign-in", { signal });
  }

  /** Null: the sign-in needs a code. */
  async signIn(email: string, password: string): Promise<ConsoleSession | null> {
    const options = { method: "POST", body: { email, password }, unauthorizedIsAnswer: true } as const;
    const answer = await this.#client.request<ConsoleSession | SecondFactorNeeded>("/session", options);
    return "secondFactorPending" in answer ? null : this.#begin(answer);
  }

  async completeSignIn(code: string): Promise<ConsoleSession> {
    const options = { method: "POST", body: { code }, unauthorizedIsAnswer: true } as const;
    return this.#begin(await this.#client.request("/session/second-factor", options));
  }

  openInvitation(token: string, signal: AbortSignal): Promise<InvitationAnswer> {
    return this.#client.request("/invitations/open", { method: "POST", body: { token }, signal });
  }

  async acceptInvitation(token: string, name: string, password: string): Promise<ConsoleSession> {
    const body = { token, name, password };
    return this.#begin(await this.#client.request("/invitations/accept", { method: "POST", body }));
  }

  async recoverPassword(email: string): Promise<void> {
    await this.#client.request("/password-recovery", { method: "POST", body: { email } });
  }

  async completeRecovery(token: string, newPassword: string): Promise<void> {
    await this.#client.request("/password-recovery/complete", { method: "POST", body: { token, newPassword } });
  }

  people(page: number, limit: number, signal: AbortSignal): Promise<ConsolePeopleAnswer> {
    return this.#client.request(`/people${queryOf({ page, limit })}`, { signal });
  }

  invite(body: InvitePersonBody): Promise<InvitedPersonAnswer> {
    return this.#client.request("/people/invitations", { method: "POST", body });
  }

  async cancelInvitation({ id }: ConsoleInvitation): Promise<void> {
    await this.#client.request(`/people/invitations/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  async changeRole(userId: string, role: ConsoleRole): Promise<void> {
    await this.#client.request(`${person(userId)}/role`, { method: "PUT", body: { role } });
  }

  async changePerson(userId: string, change: "disable" | "end-sessions" | "reset-two-factor"): Promise<void> {
    await this.#client.request(`${person(userId)}/${change}`, { method: "POST" });
  }

  async requireTwoFactor(required: boolean): Promise<void> {
    await this.#client.request("/people/two-factor-requirement", { method: "PUT", body: { required } });
  }

  beginTwoFactor(currentPassword: string): Promise<TwoFactorSecretAnswer> {
    return this.#client.request("/two-factor", { method: "POST", body: { currentPassword } });
  }

  async confirmTwoFactor(code: string): Promise<readonly string[]> {
    const options = { method: "POST", body: { code } } as const;
    return (await this.#client.request<RecoveryCodesAnswer>("/two-factor/confirm", options)).recoveryCodes;
  }

  async replaceRecoveryCodes(body: Factors): Promise<readonly string[]> {
    const options = { method: "POST", body } as const;
    return (await this.#client.request<RecoveryCodesAnswer>("/two-factor/recovery-codes", options)).recoveryCodes;
  }

  async disableTwoFactor(body: Factors): Promise<void> {
    await this.#client.request("/two-factor/disable", { method: "POST", body });
  }

  async sessions(signal: AbortSignal): Promise<ConsoleSessionEntry[]> {
    return (await this.#client.request<{ sessions: ConsoleSessionEntry[] }>("/sessions", { signal })).sessions;
  }

  async endSession(id: string): Promise<void> {
    await this.#client.request(`/sessions/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  async endOtherSessions(): Promise<ConsoleSession> {
    return this.#begin(await this.#client.request("/sessions/end-others", { method: "POST" }));
  }

  #begin(session: ConsoleSession): ConsoleSession {
    this.#client.useToken(session.csrfToken);
    return session;
  }
}
