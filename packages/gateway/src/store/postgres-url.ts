/** Whether a text is an address of PostgreSQL. For those who only look: loads no driver. */
export function isPostgresUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\//i.test(text)) return false;
  try {
    nameOfDatabase(text);
    passwordOf(text);
    return true;
  } catch {
    // No address, or something in it is encoded as nothing is.
    return false;
  }
}

/** Host and name of the database, without user and password: fit for messages. */
export function nameOfDatabase(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get("host") ?? decodeURIComponent(hostname);
  const isSocket = host === "" || host.startsWith("/");
  return `PostgreSQL ${isSocket ? host : `${host}:${port === "" ? "5432" : port}`}${pathname === "/" ? "" : pathname}`;
}

/** What must never be shown of an address. */
export function passwordOf(url: string): string | undefined {
  const { password, searchParams } = new URL(url);
  const text = searchParams.get("password") ?? decodeURIComponent(password);
  return text === "" ? undefined : text;
}
