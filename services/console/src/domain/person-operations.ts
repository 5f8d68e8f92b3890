import type { PersonOperation, PersonTemplateOperation, AccountRef } from "@kapi/contracts";
import type { ApiError, Caller } from "@kapi/http";

import type { OwnersAnswer } from "./ports.ts";

/** A request for an operation of the management API, which the console sends for a person. */
export interface OperationRequest<Operation> {
  readonly operation: Operation;
  /** All attempts of one change have the same key. Another change of the person has another key. */
  readonly idempotencyKey: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly requestId: string;
}

type OperationAnswer = Promise<OwnersAnswer | { readonly rejection: ApiError }>;

/**
 * Calls operations of the gateway for a person. Returns the gateway's answer, or the error with
 * which the gateway rejects the request. Throws DependencyError if the outcome is unknown.
 */
export interface PersonOperations {
  onAccount(
    account: AccountRef & { readonly organizationId: string },
    request: OperationRequest<PersonOperation>,
  ): OperationAnswer;
  onTemplate(
    template: { readonly organizationId: string; readonly serverId: string; readonly templateName: string },
    request: OperationRequest<PersonTemplateOperation>,
  ): OperationAnswer;
}
