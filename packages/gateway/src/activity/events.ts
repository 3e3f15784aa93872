import type { Usage } from "@keywheel/pool";
import type { NoticeFacts } from "./notice-book.ts";

/** What becomes known as requests end. Ids and times only, never a secret. */
export type ActivityEvent =
  | {
      readonly type: "request-finished";
      readonly requestId: string;
      readonly providerId: string | undefined;
      readonly keyId: string | undefined;
      readonly status: number;
      readonly error: string | undefined;
      readonly ending: string;
      readonly attempts: number;
      readonly durationMs: number;
      readonly usage: Usage | undefined;
      readonly at: number;
    }
  /** A notice was raised, happened again, or is over. */
  | {
      readonly type: "notice";
      readonly noticeId: string;
      readonly code: string;
      readonly providerId: string | undefined;
      readonly message: string;
      readonly facts: NoticeFacts;
      readonly count: number;
      readonly resolvedAt: number | undefined;
      /** Taken off the list by a person, while it lasts. */
      readonly isDismissed: boolean;
      readonly at: number;
    };
