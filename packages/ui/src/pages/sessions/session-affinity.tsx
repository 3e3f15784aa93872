import { Box, Drawer, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Session, SessionAffinity } from "../../api/openapi.ts";
import { isApiError } from "../../api/problem.ts";
import { sessionAffinityQuery } from "../../api/queries.ts";
import { type Format, useFormat } from "../../format/format.ts";
import { CacheComparison } from "../../parts/cache/cache-comparison.tsx";
import { inputOf } from "../../parts/cache/cached-input.ts";
import { keyInSentence, keyNameOf } from "../../parts/key-name.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { leavingLabel } from "../../parts/outcomes.ts";
import { useLastShown } from "../../parts/use-last-shown.ts";

export interface SessionAffinityDrawerProps {
  /** Undefined while none is open. */
  readonly session: Session | undefined;
  readonly onClose: () => void;
}

/** What keeping its key was worth to a session, request by request, beside the list. */
export function SessionAffinityDrawer({ session, onClose }: SessionAffinityDrawerProps): ReactNode {
  const { t } = useTranslation();
  const shown = useLastShown(session);
  return (
    <Drawer
      opened={session !== undefined}
      onClose={onClose}
      position="right"
      size="xl"
      title={
        <Text span fw={650} size="sm" style={{ overflowWrap: "anywhere" }}>
          {t("affinity.sessionHeading", { session: shown?.id ?? "" })}
        </Text>
      }
      closeButtonProps={{ "aria-label": t("common.close") }}
      attributes={{ header: { role: "presentation" } }}
      overlayProps={{ backgroundOpacity: 0.25 }}
    >
      {shown && <Content session={shown} />}
    </Drawer>
  );
}

function Content({ session }: { readonly session: Session }): ReactNode {
  const { t } = useTranslation();
  const { data, error, refetch } = useQuery(sessionAffinityQuery(session.id, session.provider_id));
  if (isApiError(error) && error.status === 404) return <Text>{t("affinity.sessionMissing")}</Text>;
  if (error && !data) return <LoadFailed error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton h={240} radius="md" aria-busy />;
  return (
    <Stack gap="lg">
      <CacheComparison kept={data.kept} first={data.new} left={data.left} />
      {!data.is_whole && (
        <Text size="xs" c="dimmed">
          {t("affinity.sessionNewest")}
        </Text>
      )}
      <Keys keys={data.keys} />
      <Steps steps={data.steps} />
    </Stack>
  );
}

function Keys({ keys }: { readonly keys: SessionAffinity["keys"] }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Stack gap="xs">
      <Title order={2}>{t("affinity.sessionKeys")}</Title>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t("affinity.colKey")}</Table.Th>
            <Table.Th scope="col" ta="end">
              {t("affinity.colRequests")}
            </Table.Th>
            <Table.Th scope="col" ta="end">
              {t("affinity.colCached")}
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <Table.Tr key={key.key_id}>
              <Table.Th scope="row" fw={500} dir="auto">
                {keyNameOf(key, t)}
              </Table.Th>
              <Table.Td ta="end">{format.number(key.requests)}</Table.Td>
              <Table.Td ta="end">{key.cached_share === null ? "–" : format.percent(key.cached_share)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

type Step = SessionAffinity["steps"][number];

function Steps({ steps }: { readonly steps: readonly Step[] }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Stack gap="xs">
      <Title order={2}>{t("affinity.sessionSteps")}</Title>
      <Box style={{ overflowX: "auto" }} tabIndex={0} role="group" aria-label={t("affinity.sessionSteps")}>
        <Table miw="30rem">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t("affinity.colTime")}</Table.Th>
              <Table.Th scope="col">{t("affinity.colKey")}</Table.Th>
              <Table.Th scope="col" ta="end">
                {t("affinity.colCached")}
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {steps.map((step) => (
              <Table.Tr key={step.request_id}>
                <Table.Td>
                  <time dateTime={step.ended_at} title={format.dateTime(step.ended_at)}>
                    {format.time(step.ended_at)}
                  </time>
                </Table.Td>
                <Table.Td>
                  <Text size="sm" fw={500} dir="auto">
                    {step.key_id === null ? "–" : keyNameOf(step, t)}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {fateText(step, t)}
                  </Text>
                </Table.Td>
                <Table.Td ta="end">{cachedText(step, t, format)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Box>
    </Stack>
  );
}

function fateText({ fate, left }: Step, t: TFunction): string {
  if (fate === "kept") return t("affinity.fateKept");
  if (fate === "new") return t("affinity.fateNew");
  const reason = leavingLabel(fate, t);
  if (left === null) return t("affinity.fateLeftNobody", { reason });
  return t("affinity.fateLeft", { name: keyInSentence(left, t), reason });
}

function cachedText(step: Step, t: TFunction, format: Format): string {
  const { input_tokens: input, cache_read_tokens: read, cache_write_tokens: written } = step;
  if (input === null || read === null || written === null) return "–";
  const all = inputOf({ input_tokens: input, cache_read_tokens: read, cache_write_tokens: written });
  if (all === 0) return "–";
  const of = t("affinity.cachedOf", { cached: format.compact(read), input: format.compact(all) });
  return `${format.percent(read / all)} (${of})`;
}
