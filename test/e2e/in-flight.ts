/**
 * Calls `work` for every index below `count`, `width` at a time. Returns the results by index.
 * Rejects at the first failure; the calls for other indexes continue.
 */
export async function inFlight<T>(count: number, width: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
  return results;
}
