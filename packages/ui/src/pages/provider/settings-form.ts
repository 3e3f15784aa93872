import { useEffect } from "react";
import type { Provider } from "../../api/openapi.ts";

export interface SettingsFormProps {
  readonly provider: Provider;
  /** Told whether the form holds what is not saved. */
  readonly onDirty: (isDirty: boolean) => void;
}

export function useDirty(isDirty: boolean, onDirty: (isDirty: boolean) => void): void {
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
}
