import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { OrganizationQueue, QueueTimeout } from "./organization-queue.ts";

const MAX_WAIT_MS = 1_000;

/** A queue whose jobs complete when the test calls `complete`. */
function setUp(limits: { perOrganization: number; total: number }) {
  const queue = new OrganizationQueue(limits);
  const started: string[] = [];
  const completions = new Map<string, (error?: Error) => void>();
  const run = (organizationId: string, job: string): Promise<void> =>
    queue.run(organizationId, MAX_WAIT_MS, () => {
      started.push(job);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      completions.set(job, (error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
      return promise;
    });
  const complete = async (job: string, error?: Error): Promise<void> => {
    completions.get(job)?.(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { run, complete, started };
}

describe("a queue of organizations", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs jobs at once up to its limits; above them, organizations take turns", async () => {
    const { run, complete, started } = setUp({ perOrganization: 2, total: 2 });
    for (const job of ["a1", "a2", "a3", "a4", "a5"]) void run("a", job);
    void run("b", "b1");
    void run("b", "b2");
    void run("c", "c1");
    expect(started).toEqual(["a1", "a2"]);
    for (const job of ["a1", "a2", "a3", "b1", "c1", "a4", "b2"]) await complete(job);
    expect(started).toEqual(["a1", "a2", "a3", "b1", "c1", "a4", "b2", "a5"]);
  });

  it("skips an organization that holds its share: a free slot goes to another organization", async () => {
    const { run, complete, started } = setUp({ perOrganization: 1, total: 2 });
    void run("a", "a1");
    void run("a", "a2");
    void run("b", "b1");
    expect(started).toEqual(["a1", "b1"]);
    await complete("b1");
    expect(started).toEqual(["a1", "b1"]);
    void run("c", "c1");
    await complete("a1");
    expect(started).toEqual(["a1", "b1", "c1", "a2"]);
  });

  it("rejects a job after its maximum wait, and never runs it", async () => {
    const { run, complete, started } = setUp({ perOrganization: 1, total: 1 });
    void run("a", "a1");
    const late = expect(run("a", "a2")).rejects.toThrow(QueueTimeout);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS - 1);
    void run("b", "b1");
    await vi.advanceTimersByTimeAsync(1);
    await late;
    await complete("a1");
    expect(started).toEqual(["a1", "b1"]);
  });

  it("gives the slot of a failed job to the next job, and the error to the caller", async () => {
    const { run, complete, started } = setUp({ perOrganization: 1, total: 1 });
    const failed = expect(run("a", "a1")).rejects.toThrow("broken");
    void run("a", "a2");
    await complete("a1", new Error("broken"));
    await failed;
    expect(started).toEqual(["a1", "a2"]);
  });
});
