/** Both ways in; named by every call under /api but the one that signs in. */
export const security = [{ adminToken: [] }, { browserSession: [] }];
