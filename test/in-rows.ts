/** Runs so many at once, and the next as soon as one is done. */
export async function inRows<T>(count: number, atOnce: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const row = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) results[number] = await work(number);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, row));
  return results;
}
