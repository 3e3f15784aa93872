import { withoutKeyParameter } from "@keywheel/pool";
import type { Admitted } from "./admission.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

const headerName = "x-goog-upload-url";

/** Where a client is to send the bytes of an upload that it has begun. */
export interface UploadAddress {
  /** The same place, by way of this gateway. */
  readonly url: string;
  /** Names the upload: what comes for it belongs to the key that began it. */
  readonly uploadId: string | undefined;
}

/**
 * Gemini answers the beginning of a resumable upload with the address for its bytes, at the provider itself. A client that
 * followed it would leave the gateway, and nobody would learn whose file it becomes; so it is led back through here.
 *
 * @returns undefined where there is no such address, or it leads elsewhere than to the provider
 */
export function uploadAddress(
  answer: StreamedAnswer,
  { runtime, target, header, request }: Admitted,
): UploadAddress | undefined {
  const told = answer.header(headerName);
  if (told === undefined || !URL.canParse(told)) return undefined;
  const { origin, pathname, search, searchParams } = new URL(told);
  if (origin !== runtime.baseUrl.origin) return undefined;
  const isEncrypted = header("x-forwarded-proto") === "https" || "encrypted" in request.socket;
  const query = withoutKeyParameter(search.slice(1));
  const host = header("host") ?? "localhost";
  const url = `${isEncrypted ? "https" : "http"}://${host}/${target.slug}${pathname}${query === "" ? "" : `?${query}`}`;
  return { url, uploadId: searchParams.get("upload_id") ?? undefined };
}

/** The headers with the address replaced. @param headers flat name, value, name, value */
export function withUploadAddress(headers: readonly string[], url: string): string[] {
  return headers.map((item, index) =>
    index % 2 === 1 && headers[index - 1]?.toLowerCase() === headerName ? url : item,
  );
}
