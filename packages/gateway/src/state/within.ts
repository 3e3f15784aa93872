/**
 * What the work comes to, or a rejection if that takes longer than `ms`.
 *
 * The time is over only after what has arrived meanwhile was read: a process that was busy itself blames nobody.
 */
export async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${ms} ms`))), ms);
  });
  // Whoever loses the race is looked at by nobody.
  late.catch(() => {});
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
