export const sessions = {
  affinityOff: "Session affinity can be switched off in the settings of a provider.",
  carrier: "named by {{carrier}}",
  changed: "Show the latest order",
  colActions: "Actions",
  colBound: "Bound since",
  colKey: "Key",
  colLastUsed: "Last used",
  colProvider: "Provider",
  colRequests: "Requests",
  colSession: "Session",
  emptyFiltered: "No session matches",
  emptyFilteredHint:
    "A session is listed while it is bound to a key. It is forgotten once it was not used for as long as its provider's settings say.",
  emptyHeading: "No session yet",
  emptyHint:
    "When a client names a session, or continues a conversation under a name, its requests stay with one key and the session appears here.",
  end: "End session",
  endConfirm: "End the session {{session}}?",
  endText:
    "Its next request takes a turn on the wheel and may go to another key. The chat itself goes on; the provider's prompt cache of the old key is not used any more.",
  ended: "The session was ended. Its next request takes a turn on the wheel.",
  endNamed: "End session {{session}}",
  heading: "Sessions",
  helpHeading: "The pool is set up right, but requests still use the old key?",
  helpText:
    "That is session affinity: a session stays with the key that it is bound to, so that the provider's prompt cache can be used. Start a new chat session, end the session here, or wait until the old key rests: then it moves by itself.",
  intro:
    "Which key each session is bound to. All requests of a session go to the same key until that key rests, is disabled or deleted, or the session ends.",
  loadMore: "Load more sessions",
  search: "Search sessions",
  tableLabel: "Sessions",
  viewRequests: "Requests of this session",
  viewRequestsNamed: "Requests of the session {{session}}",
} as const;
