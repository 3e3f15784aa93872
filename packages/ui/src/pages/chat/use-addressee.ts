import { useState } from "react";
import type { Provider } from "../../api/openapi.ts";
import type { AddresseeFieldsProps } from "./addressee-fields.tsx";
import type { Addressee } from "./chat-room.ts";
import type { Chat } from "./chat-store.ts";
import { habits } from "./kept-words.ts";

interface AddresseeState {
  readonly fields: Omit<AddresseeFieldsProps, "providers">;
  /** Undefined where something is missing, which is then said beside its field. */
  readonly complete: () => Addressee | undefined;
}

/** To whom a chat talks: as it did so far, or, for a new one, as the last one did. */
export function useAddressee(chat: Chat | undefined, providers: readonly Provider[]): AddresseeState {
  const [chosen, setChosen] = useState<{ readonly providerId: string; readonly model: string }>();
  const [isAskedFor, setAskedFor] = useState(false);
  const { providerId, model } = chosen ?? chat ?? firstChoice(providers);
  const provider = providers.find(({ id }) => id === providerId);
  return {
    fields: {
      provider,
      model,
      isAskedFor,
      onProvider: (id) => setChosen({ providerId: id, model: habits.model(id) }),
      onModel: (name) => setChosen({ providerId, model: name }),
    },
    complete: () => {
      const name = model.trim();
      const isComplete = provider !== undefined && name !== "";
      setAskedFor(!isComplete);
      if (isComplete) return { provider, model: name };
      document.getElementById("chat-model")?.focus();
      return undefined;
    },
  };
}

function firstChoice(providers: readonly Provider[]): { readonly providerId: string; readonly model: string } {
  const usual = providers.find(({ id, enabled }) => enabled && id === habits.provider());
  const providerId = (usual ?? providers.find(({ enabled }) => enabled) ?? providers[0])?.id ?? "";
  return { providerId, model: habits.model(providerId) };
}
