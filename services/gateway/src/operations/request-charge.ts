import {
  type Admission,
  type Admitted,
  type BilledCaller,
  ChargeUnknown,
  type Directory,
  type NewRecord,
  type RefundRequest,
  type RepeatedRefunds,
} from "@kapi/admission";
import type { OperationContract, OperationId } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { type Clock, uuidV7 } from "@kapi/kernel";

const TOO_MANY_REQUESTS = 429;

interface ChargeDependencies {
  readonly admission: Pick<Admission, "admit" | "refund">;
  /** Repeats in the background the refunds that Redis did not confirm. */
  readonly refunds: RepeatedRefunds;
  readonly prices: Directory["prices"];
  readonly clock: Clock;
}

/** The request that is charged. */
export interface ChargedRequest {
  readonly operation: OperationId;
  readonly contract: Pick<OperationContract, "price">;
  /** The same object for every request of a key. */
  readonly caller: BilledCaller;
  readonly requestId: string;
  /** The network address of the caller; null if the connection is closed. */
  readonly address: string | null;
}

/**
 * Callers whose last charge in `readWhileCharging` failed: their next read starts only after its
 * charge.
 */
const rejectedCallers = new WeakSet<BilledCaller>();

/**
 * The charge of one request, in the order of checks (decisions, 1.1 and 7.1). It tracks what to
 * refund if the request fails at any later step.
 */
export class RequestCharge {
  readonly #dependencies: ChargeDependencies;
  readonly #request: ChargedRequest;
  /** Repeated admissions of this request have the same charge id, so only one of them charges. */
  readonly #chargeId: string;
  #admitted: Pick<Admitted, "charged" | "remaining"> | null = null;
  /**
   * By command id, in the order of the records: whether the message may already be in the log of
   * commands, or may still get there.
   */
  readonly #records = new Map<string, { readonly mayBePublished: boolean }>();

  constructor(dependencies: ChargeDependencies, request: ChargedRequest) {
    this.#dependencies = dependencies;
    this.#request = request;
    // Time-ordered, so that inserts into the ledger's index are sequential.
    this.#chargeId = uuidV7(dependencies.clock.nowMs());
  }

  /** The result of the last admission or refund, for the credit headers; null before the first. */
  get admitted(): Pick<Admitted, "charged" | "remaining"> | null {
    return this.#admitted;
  }

  /**
   * Whether a failure after the admission needs a refund. May be false after {@link ChargeUnknown},
   * although a refund is always needed then.
   */
  get isRefundable(): boolean {
    return this.#admitted !== null && (this.#admitted.charged > 0 || this.#records.size > 0);
  }

  /**
   * The refund of all credits that the request consumed, or reserved for messages that were not
   * published.
   */
  refundRequest(): RefundRequest {
    const { caller, operation, requestId } = this.#request;
    const records = Array.from(this.#records, ([commandId, { mayBePublished }]) => ({ commandId, mayBePublished }));
    return { caller, operation, requestId, chargeId: this.#chargeId, records };
  }

  /**
   * Charges the read price.
   * @throws ApiError 401, 429, 402 or 500; without a wallet, getCreditBalance is 404. Nothing is
   * charged then, except perhaps with ChargeUnknown.
   */
  async read(): Promise<Admitted> {
    const { read } = this.#dependencies.prices();
    return this.#consume(read);
  }

  /**
   * Charges the read price and runs `read` in parallel; returns the result of `read`. Only for
   * reads that are as little work as the charge. If the charge fails, the read was useless: later
   * calls of this function for the caller charge first, until the charge of such a call succeeds.
   */
  async readWhileCharging<T>(read: () => Promise<T>): Promise<T> {
    const { caller } = this.#request;
    if (rejectedCallers.has(caller)) {
      await this.read();
      rejectedCallers.delete(caller);
      return read();
    }
    const found = read();
    // The charge error wins; the read result is ignored.
    found.catch(() => undefined);
    try {
      await this.read();
    } catch (error) {
      rejectedCallers.add(caller);
      throw error;
    }
    return found;
  }

  /**
   * Charges the read price, then throws `error`: 429 and 402 come before 400, 404 and 409, which
   * cost the read price (decisions, 1.1 and 7.1).
   */
  async reject(error: ApiError): Promise<never> {
    await this.read();
    throw error;
  }

  /**
   * Charges a change that is made within the request.
   * @throws ApiError as {@link read}.
   */
  async change(): Promise<void> {
    await this.#consume(this.#dependencies.prices()[this.#request.contract.price]);
  }

  /**
   * Throws the owner's error after {@link change}: refunds the price, and charges the read price
   * instead, except for a 429 (decisions, 7.1). The request was admitted already, so the rate limit
   * does not count it again. If the read price cannot be charged, `error` is still thrown and the
   * request costs nothing.
   */
  async rejectChange(error: ApiError): Promise<never> {
    const { admission, refunds, prices, clock } = this.#dependencies;
    const { caller, operation, requestId, address } = this.#request;
    const { remaining } = await admission.refund({ caller, operation, requestId, chargeId: this.#chargeId });
    this.#admitted = { charged: 0, remaining: remaining ?? this.#admitted?.remaining ?? 0 };
    if (error.status === TOO_MANY_REQUESTS) throw error;
    const readPrice = prices().read;
    const readChargeId = uuidV7(clock.nowMs());
    try {
      this.#admitted = await admission.admit({
        caller: { ...caller, rateLimit: null },
        operation,
        requestId,
        address,
        chargeId: readChargeId,
        mode: "consume",
        price: readPrice,
        readPrice,
      });
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      if (failure instanceof ChargeUnknown) refunds.add({ caller, operation, requestId, chargeId: readChargeId });
    }
    throw error;
  }

  /**
   * Reserves the credits of `records`, once each; may be repeated with the same records. The
   * records are noted before the call, so that a failure at any later step can refund them.
   */
  async reserve(records: readonly NewRecord[], knownDuplicates: readonly boolean[]): Promise<Admitted> {
    for (const { commandId } of records) if (!this.#records.has(commandId)) this.notPublished(commandId);
    const admitted = await this.#dependencies.admission.admit({
      ...this.#admissionFields(),
      mode: "reserve",
      price: 0,
      readPrice: this.#dependencies.prices().read,
      records,
      knownDuplicates,
    });
    this.#admitted = admitted;
    return admitted;
  }

  /** Call it before the message is published: a later refund keeps the command's reservation. */
  mayBePublished(commandId: string): void {
    this.#records.set(commandId, { mayBePublished: true });
  }

  /** Call it if the message is certainly not in the log: a refund releases the reservation. */
  notPublished(commandId: string): void {
    this.#records.set(commandId, { mayBePublished: false });
  }

  async #consume(price: number): Promise<Admitted> {
    const readPrice = this.#dependencies.prices().read;
    const admitted = await this.#dependencies.admission.admit({
      ...this.#admissionFields(),
      mode: "consume",
      price,
      readPrice,
    });
    this.#admitted = admitted;
    return admitted;
  }

  #admissionFields() {
    const { caller, operation, requestId, address } = this.#request;
    return { caller, operation, requestId, address, chargeId: this.#chargeId };
  }
}
