import type { History } from "./entries.ts";
import { eventsOutOfStep, eventsWithoutCause } from "./rules-of-events.ts";
import { forgotten, movedBack, wronglyLeft } from "./rules-of-health.ts";
import { sessionsApart, sharesOff } from "./rules-of-sharing.ts";
import { notInDatabase, triedTwice, unserved, usedAfterChange, usedWhenOut, wrongAnswers } from "./rules-of-use.ts";
import { SeenHistory } from "./seen-history.ts";

/**
 * What in a history breaks contract §4, as sentences; empty if nothing does.
 *
 * An outside observer does not see when a gateway chose a key or took note of an answer, only bounds of it: a first
 * attempt was chosen after its call was sent, a retry after the answer before it; an answer was taken note of by the time
 * the next attempt arrived or the client got its own. Only what no order within these bounds can explain is told.
 *
 * Of several gateways each has to keep the rules by what it knows itself, and by what the others knew as soon as that must
 * have reached it: 100 ms later through the shared state, a second later through the database, and as much after the last
 * instant at which either of the two was without it.
 *
 * The last snapshot of each gateway must have been asked for when everything had come to rest.
 *
 * @see contract §4
 */
export function violationsOf(history: History): string[] {
  const seen = new SeenHistory(history);
  const found = [
    ...triedTwice(history),
    ...wrongAnswers(history),
    ...unserved(seen),
    ...usedWhenOut(seen),
    ...usedAfterChange(seen),
    ...notInDatabase(seen),
    ...movedBack(seen),
    ...forgotten(seen),
    ...eventsOutOfStep(seen),
    ...eventsWithoutCause(seen),
    ...wronglyLeft(seen),
    ...sessionsApart(seen),
    ...sharesOff(seen),
  ];
  return [...new Set(found)];
}
