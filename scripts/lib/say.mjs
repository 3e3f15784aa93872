/**
 * Tells the person at the terminal what takes its time. On standard error, so that the output of the program that is
 * started stays clean.
 *
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`${text}\n`);
}
