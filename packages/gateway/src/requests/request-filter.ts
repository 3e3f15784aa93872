import type { RequestFilter, StoredRequest } from "../store/store.ts";

/** Whether a request is one of those that are asked for, wherever the page begins. */
export function fits(request: StoredRequest, filter: RequestFilter): boolean {
  const { providerId, keyId, sessionId, status, failed, failover } = filter;
  if (providerId !== undefined && request.providerId !== providerId) return false;
  if (sessionId !== undefined && request.sessionId !== sessionId) return false;
  if (status !== undefined && (request.status < status.from || request.status > status.to)) return false;
  if (failed !== undefined && failed !== request.failed) return false;
  if (failover === true && request.otherKeyIds.length === 0) return false;
  return keyId === undefined || request.keyId === keyId || request.otherKeyIds.includes(keyId);
}
