// The gateway's clock decides when a cooldown ends. A browser whose own clock is off would count down to the wrong moment.
let offsetMs = 0;

/** Below this, the second that `date` is rounded to and the way here explain the difference. */
const toleranceMs = 2_500;

/** @param date the header of an answer that has just come */
export function noteServerTime(date: string | null): void {
  const then = Date.parse(date ?? "");
  if (Number.isNaN(then)) return;
  const difference = then - Date.now();
  offsetMs = Math.abs(difference) > toleranceMs ? difference : 0;
}

/** Now by the gateway's clock, epoch ms. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
