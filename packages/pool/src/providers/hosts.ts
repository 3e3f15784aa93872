/** Whether a host name is this host; a leading dot stands for the domain itself and any name below it. */
export function isHostOf(hostname: string, host: string): boolean {
  return host.startsWith(".") ? `.${hostname}`.endsWith(host) : hostname === host;
}
