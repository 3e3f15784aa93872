/** Characters of an instant in ms, base 36: enough until the year 2059, and as many all along. */
const instantLength = 8;
const told = new RegExp(`^req_([0-9a-z]{${instantLength}})`);

/**
 * Makes ids of requests: `req_`, when the request began, which process served it, and a number. They grow, so that they are found
 * without an index of their own.
 *
 * @param process told apart from all others that ids are made by: gateways on one database, former ones; four characters or so
 * @param worker 0: the only one, or the first
 */
export function createRequestIds(process: string, worker: number): (startedAt: number) => string {
  const place = worker === 0 ? process : `${process}w${worker.toString(36)}x`;
  let count = 0;
  let lastAt = -1;
  let prefix = "";
  return (startedAt) => {
    if (startedAt !== lastAt) {
      lastAt = startedAt;
      prefix = `req_${startedAt.toString(36).padStart(instantLength, "0")}${place}`;
    }
    count = (count + 1) % 36 ** 4;
    return `${prefix}${count.toString(36).padStart(4, "0")}`;
  };
}

/** When the request of that id began, epoch ms; undefined if the id does not tell. */
export function instantOfRequestId(id: string): number | undefined {
  const digits = told.exec(id)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 36);
}
