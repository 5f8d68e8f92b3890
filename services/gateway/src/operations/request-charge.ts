import type { Admission, Admitted, NewRecord, Directory, RefundRequest } from "@kapi/admission";
import type { KeyEntry, OperationContract, OperationId } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { type Clock, uuidV7 } from "@kapi/kernel";

const TOO_MANY_REQUESTS = 429;

export interface ChargeDependencies {
  readonly admission: Pick<Admission, "admit" | "refund">;
  readonly prices: Directory["prices"];
  readonly clock: Clock;
}

/** Whose request is charged, and for what. */
export interface ChargedRequest {
  readonly operation: OperationId;
  readonly contract: Pick<OperationContract, "price">;
  readonly key: KeyEntry;
  readonly requestId: string;
  /** The network address that it came from; null where the connection is gone. */
  readonly address: string | null;
}

/** Keys whose last read was refused: what they ask for is looked for only once they may have it. */
const refusedKeys = new WeakSet<KeyEntry>();

/**
 * What one request is charged, in the order of checks (decisions, 1.1 and 7.1). It knows at every
 * moment what is to be given back where the request fails, whatever fails.
 */
export class RequestCharge {
  readonly #dependencies: ChargeDependencies;
  readonly #request: ChargedRequest;
  /** By which everything that this request is charged is charged once. */
  readonly #chargeId: string;
  #admitted: Pick<Admitted, "charged" | "remaining"> | null = null;
  /**
   * By command id, in the order in which the request claims them: whether the message may be
   * published.
   */
  readonly #claims = new Map<string, { readonly mayBePublished: boolean }>();

  constructor(dependencies: ChargeDependencies, request: ChargedRequest) {
    this.#dependencies = dependencies;
    this.#request = request;
    // By time, so that the ledger appends to its index and does not scatter over it.
    this.#chargeId = uuidV7(dependencies.clock.nowMs());
  }

  /** What admission said last; null before it. For the credit headers. */
  get admitted(): Pick<Admitted, "charged" | "remaining"> | null {
    return this.#admitted;
  }

  /** Whether there is something to give back where the request fails. */
  get isRefundable(): boolean {
    return this.#admitted !== null && (this.#admitted.charged > 0 || this.#claims.size > 0);
  }

  /** What gives back all that the request was charged, and reserved for what was not published. */
  refundRequest(): RefundRequest {
    const { key, operation, requestId } = this.#request;
    const records = Array.from(this.#claims, ([commandId, { mayBePublished }]) => ({ commandId, mayBePublished }));
    return { key, operation, requestId, chargeId: this.#chargeId, records };
  }

  /** Charges the read price. Throws 401, 429, 402 or 500, and charges nothing then. */
  async read(): Promise<Admitted> {
    const { read } = this.#dependencies.prices();
    return this.#consume(read);
  }

  /**
   * Charges the read price while `read` is already looking, and gives what it found. For reads that
   * cost about as little as the charge itself: a caller who is refused (401, 429, 402) has one of
   * them done in vain, and from then on none until a request of the key is accepted again.
   */
  async readWhileCharging<T>(read: () => Promise<T>): Promise<T> {
    const { key } = this.#request;
    if (refusedKeys.has(key)) {
      await this.read();
      refusedKeys.delete(key);
      return read();
    }
    const found = read();
    // The charge error wins; the read result is ignored.
    found.catch(() => undefined);
    try {
      await this.read();
    } catch (error) {
      refusedKeys.add(key);
      throw error;
    }
    return found;
  }

  /**
   * Charges the read price, and only then throws `finding`: 429 and 402 come before what is wrong
   * with the request, and 400, 404 and 409 cost the read price (decisions, 1.1 and 7.1).
   */
  async refuse(finding: ApiError): Promise<never> {
    await this.read();
    throw finding;
  }

  /**
   * Charges a change that is made within the request. Throws 401, 429, 402 or 500, and charges
   * nothing then.
   */
  async change(): Promise<void> {
    await this.#consume(this.#dependencies.prices()[this.#request.contract.price]);
  }

  /**
   * Throws what only the owner could find, after {@link change}: the price is given back, and
   * the read price charged instead unless it is a 429 (decisions, 7.1). The request was admitted:
   * neither its rate limit is counted again, nor is it refused for want of credits.
   */
  async refuseChange(finding: ApiError): Promise<never> {
    const { admission, prices, clock } = this.#dependencies;
    const { key, operation, requestId, address } = this.#request;
    const { remaining } = await admission.refund({ key, operation, requestId, chargeId: this.#chargeId });
    this.#admitted = { charged: 0, remaining: remaining ?? this.#admitted?.remaining ?? 0 };
    if (finding.status === TOO_MANY_REQUESTS) throw finding;
    const readPrice = prices().read;
    try {
      this.#admitted = await admission.admit({
        key: { ...key, rateLimit: null },
        operation,
        requestId,
        address,
        chargeId: uuidV7(clock.nowMs()),
        mode: "consume",
        price: readPrice,
        readPrice,
      });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    throw finding;
  }

  /**
   * Reserves what the commands of `claims` cost, each once; may be called again for the same
   * claims. They are noted before: a failure at any later moment finds what is to be given back.
   */
  async reserve(claims: readonly NewRecord[], knownDuplicates: readonly boolean[]): Promise<Admitted> {
    for (const { commandId } of claims) if (!this.#claims.has(commandId)) this.notPublished(commandId);
    const admitted = await this.#dependencies.admission.admit({
      ...this.#named(),
      mode: "reserve",
      price: 0,
      readPrice: this.#dependencies.prices().read,
      records: claims,
      knownDuplicates,
    });
    this.#admitted = admitted;
    return admitted;
  }

  /** From now on the command may be published: its reservation stays. */
  mayBePublished(commandId: string): void {
    this.#claims.set(commandId, { mayBePublished: true });
  }

  /** The command is certainly not published. */
  notPublished(commandId: string): void {
    this.#claims.set(commandId, { mayBePublished: false });
  }

  async #consume(price: number): Promise<Admitted> {
    const readPrice = this.#dependencies.prices().read;
    const admitted = await this.#dependencies.admission.admit({ ...this.#named(), mode: "consume", price, readPrice });
    this.#admitted = admitted;
    return admitted;
  }

  #named() {
    const { key, operation, requestId, address } = this.#request;
    return { key, operation, requestId, address, chargeId: this.#chargeId };
  }
}
