/** Room for 2,048 requests in a millisecond: an order that tells the instant, and fits a number until the year 2109. */
export const seqsPerMs = 2_048;

/** The least `seq` that a request which ends at this instant may have. @param at epoch ms */
export function seqOf(at: number): number {
  return at * seqsPerMs;
}
