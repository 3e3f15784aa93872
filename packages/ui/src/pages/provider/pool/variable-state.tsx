import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconCircleCheck, IconQuestionMark } from "@tabler/icons-react";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../../api/client.ts";
import type { Variable } from "../../../api/openapi.ts";
import { queryKeys } from "../../../api/query-keys.ts";
import { variableNameOf } from "./key-text.ts";
import classes from "./key-status.module.css";

/** Whether the gateway knows the variable of `$NAME`; nothing for what is no reference. */
export function VariableState({ reference }: { readonly reference: string }): ReactNode {
  const { t } = useTranslation();
  const name = variableNameOf(reference);
  const { data } = useQuery({
    queryKey: queryKeys.environment(name ?? ""),
    queryFn: ({ signal }) => call("GET /api/environment/{name}", { params: { name: name ?? "" }, signal }),
    enabled: name !== undefined,
    staleTime: 0,
    // Somebody may be setting it this very moment.
    refetchInterval: 2_000,
  });
  if (name === undefined || !data) return null;
  return (
    <Group gap={4} wrap="nowrap" align="flex-start" className={data.set ? classes.available : classes.unresolved}>
      {data.set ? <IconCircleCheck size={15} /> : <IconQuestionMark size={15} />}
      <Text size="xs" component="span">
        {variableText(data, `$${name}`, t)}
      </Text>
    </Group>
  );
}

function variableText({ problem }: Variable, name: string, t: TFunction): string {
  switch (problem) {
    case null:
      return t("keys.variableSet", { name });
    case "unset":
      return t("keys.variableUnset", { name });
    case "empty":
      return t("keys.variableEmpty", { name });
    case "unsendable":
      return t("keys.variableUnsendable", { name });
  }
}
