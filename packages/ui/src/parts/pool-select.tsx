import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { KeySelect } from "./key-select.tsx";
import { ProviderSelect, useProvider } from "./provider-select.tsx";

/** Empty stands for all. */
interface PoolFilter {
  readonly provider?: string;
  readonly key?: string;
}

export interface PoolSelectProps {
  readonly filter: PoolFilter;
  readonly onChange: (changes: PoolFilter) => void;
}

/** One provider, or all; and one of its keys, or any. */
export function PoolSelect({ filter, onChange }: PoolSelectProps): ReactNode {
  const { t } = useTranslation();
  return (
    <>
      <ProviderSelect
        value={filter.provider}
        onChange={(provider) => onChange({ provider: provider ?? "", key: "" })}
      />
      <KeySelect
        providerId={useProvider(filter.provider)?.id}
        value={filter.key}
        onChange={(key) => onChange({ key: key ?? "" })}
        placeholder={t("activity.anyKey")}
      />
    </>
  );
}
