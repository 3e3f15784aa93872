import type { ReactNode } from "react";

export function ProvidersPage(): ReactNode {
  return <div />;
}
