/** Both ways in; named by every call under /api but the one that signs in. */
export const security = [{ adminToken: [] }, { browserSession: [] }];

/** The cookie of a signed-in browser. */
export const sessionCookie = "keywheel_session";
