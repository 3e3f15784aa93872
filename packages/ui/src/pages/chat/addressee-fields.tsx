import { Autocomplete, Group, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Provider } from "../../api/openapi.ts";
import { modelsQuery } from "./models-query.ts";

/** More would not be read, and there are providers with thousands: typing narrows them down. */
const mostShown = 60;

export interface AddresseeFieldsProps {
  readonly providers: readonly Provider[];
  /** Undefined where the one that the chat had was deleted. */
  readonly provider: Provider | undefined;
  readonly model: string;
  readonly onProvider: (providerId: string) => void;
  readonly onModel: (model: string) => void;
  /** What is missing was asked for in vain. */
  readonly isAskedFor: boolean;
}

/** To which provider and model a chat talks. */
export function AddresseeFields(props: AddresseeFieldsProps): ReactNode {
  const { providers, provider, model, onProvider, onModel, isAskedFor } = props;
  const { t } = useTranslation();
  return (
    <Group gap="xs" grow preventGrowOverflow={false} wrap="nowrap" align="flex-start">
      <Select
        aria-label={t("chat.provider")}
        placeholder={t("chat.provider")}
        data={providers.map(({ id, name, enabled }) => ({
          value: id,
          label: enabled ? name : t("chat.disabledNamed", { name }),
        }))}
        value={provider?.id ?? null}
        onChange={(id) => id !== null && onProvider(id)}
        allowDeselect={false}
        searchable={providers.length > 8}
        error={isAskedFor && provider === undefined ? t("chat.providerMissing") : undefined}
        comboboxProps={{ width: "max-content", position: "bottom-start" }}
      />
      {provider ? (
        <ModelField provider={provider} model={model} onModel={onModel} isAskedFor={isAskedFor} />
      ) : (
        <Autocomplete aria-label={t("chat.model")} placeholder={t("chat.model")} disabled />
      )}
    </Group>
  );
}

function ModelField({
  provider,
  model,
  onModel,
  isAskedFor,
}: Pick<AddresseeFieldsProps, "model" | "onModel" | "isAskedFor"> & { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const { data: models = [], isError } = useQuery(modelsQuery(provider));
  const isAzure = provider.kind === "azure-openai";
  return (
    <Autocomplete
      id="chat-model"
      aria-label={isAzure ? t("chat.deployment") : t("chat.model")}
      placeholder={isError ? t("chat.typeModel") : isAzure ? t("chat.deployment") : t("chat.chooseModel")}
      data={[...models]}
      limit={mostShown}
      value={model}
      onChange={onModel}
      spellCheck={false}
      autoCapitalize="off"
      // What is chosen stands there already: all are offered, not those that resemble it.
      filter={({ options, search, limit }) =>
        (models.includes(search) ? options : matching(options, search)).slice(0, limit)
      }
      error={isAskedFor && model.trim() === "" ? t("chat.modelMissing") : undefined}
      comboboxProps={{ width: "max-content", position: "bottom-end" }}
      maxDropdownHeight={320}
    />
  );
}

type Options = Parameters<NonNullable<Parameters<typeof Autocomplete>[0]["filter"]>>[0]["options"];

function matching(options: Options, search: string): Options {
  const wanted = search.trim().toLowerCase();
  return options.filter((option) => "value" in option && option.value.toLowerCase().includes(wanted));
}
