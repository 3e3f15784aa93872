import type { ReactNode } from "react";

export function ProviderPage(): ReactNode {
  return <div />;
}
