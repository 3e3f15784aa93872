import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { call } from "../../../api/client.ts";
import type { Key, KeyBulk, KeyPatch } from "../../../api/openapi.ts";
import { queryKeys } from "../../../api/query-keys.ts";
import { useNotify } from "../../../parts/notify.ts";
import { useLatest } from "../../../parts/use-latest.ts";
import { nameOf } from "./key-facts.ts";

/** What people do with the keys of one provider. Every answer is shown at once; events only confirm it. */
export interface KeyActions {
  /** Rejects where the gateway does. */
  readonly change: (key: Key, patch: KeyPatch) => Promise<void>;
  /** Tells of a failure itself, as the following do. */
  readonly switchTo: (key: Key, enabled: boolean) => Promise<void>;
  readonly clearCooldown: (key: Key) => Promise<void>;
  readonly remove: (key: Key) => Promise<void>;
  /** @param ids all of them, in the new order */
  readonly reorder: (ids: readonly string[]) => Promise<void>;
  readonly bulk: (body: KeyBulk) => Promise<void>;
}

/** @returns the same object at every drawing */
export function useKeyActions(providerId: string): KeyActions {
  const { t } = useTranslation();
  const notify = useNotify();
  const client = useQueryClient();
  const listName = queryKeys.keys(providerId);

  const update = (change: (keys: readonly Key[]) => readonly Key[]): void => {
    client.setQueryData<readonly Key[]>(listName, (keys) => keys && change(keys));
  };
  const replace = (key: Key): void => update((keys) => keys.map((other) => (other.id === key.id ? key : other)));
  const change = async ({ id }: Key, body: KeyPatch): Promise<void> => {
    replace(await call("PATCH /api/keys/{id}", { params: { id }, body }));
  };
  const tell = async (work: Promise<unknown>, title: string): Promise<boolean> => {
    try {
      await work;
      return true;
    } catch (error) {
      notify.failed(title, error);
      return false;
    }
  };

  return useLatest({
    change,
    switchTo: async (key, enabled) => {
      await tell(change(key, { enabled }), t("keys.stateFailed", { name: nameOf(key) }));
    },
    clearCooldown: async (key) => {
      const work = call("POST /api/keys/{id}/reset", { params: { id: key.id } }).then(replace);
      if (await tell(work, t("keys.stateFailed", { name: nameOf(key) })))
        notify.done(t("keys.cleared", { name: nameOf(key) }));
    },
    remove: async (key) => {
      await call("DELETE /api/keys/{id}", { params: { id: key.id } });
      update((keys) => keys.filter(({ id }) => id !== key.id));
      notify.done(t("keys.deleted", { name: nameOf(key) }));
    },
    reorder: async (ids) => {
      const before = client.getQueryData<readonly Key[]>(listName);
      const places = new Map(ids.map((id, place) => [id, place]));
      // At once, so that what was dropped stays where it was dropped.
      update((keys) => keys.toSorted((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0)));
      const params = { id: providerId };
      const work = call("PUT /api/providers/{id}/keys/order", { params, body: { ids: [...ids] } }).then(({ data }) =>
        update(() => data),
      );
      if (!(await tell(work, t("keys.moveFailed")))) update((keys) => before ?? keys);
    },
    bulk: async (body) => {
      const { ids } = await call("POST /api/providers/{id}/keys/bulk", { params: { id: providerId }, body });
      await client.invalidateQueries({ queryKey: listName });
      notify.done(t("keys.bulkDone", { count: ids.length }));
    },
  });
}
