/** As much of miniflare as the tests use; it is installed where the compiler does not look. */
export class Miniflare {
  constructor(options: {
    readonly modules: readonly { readonly type: "ESModule"; readonly path: string; readonly contents: string }[];
    readonly compatibilityDate: string;
    readonly bindings: Readonly<Record<string, unknown>>;
  });
  dispatchFetch(url: string): Promise<Response>;
  dispose(): Promise<void>;
}
