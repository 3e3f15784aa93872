import { Button, EmptyState, Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Provider, Status } from "../../api/openapi.ts";
import { providersQuery, statusQuery } from "../../api/queries.ts";
import { CopyBlock } from "../../parts/copy-text.tsx";
import { snippetsFor } from "../provider/snippets.ts";
import { useClientToken } from "../provider/use-client-token.ts";

export interface FirstStepsProps {
  readonly icon: ReactNode;
  /** What there is none of yet. */
  readonly title: string;
  readonly description: string;
}

type Step =
  | { readonly kind: "provider" }
  | { readonly kind: "key"; readonly provider: Provider }
  | { readonly kind: "request"; readonly provider: Provider };

/** The one thing to do next before there is anything to be seen: choose a provider, add a key, send a request. */
export function useFirstStep(): Step | undefined {
  const { data: providers } = useQuery(providersQuery);
  const { data: status } = useQuery(statusQuery);
  if (providers === undefined || status === undefined) return undefined;
  return firstStepOf(providers, status);
}

function firstStepOf(providers: readonly Provider[], status: Status): Step {
  const [first] = providers;
  if (first === undefined) return { kind: "provider" };
  const ready = providers.find(({ id }) => status.providers.find((other) => other.id === id)?.can_serve);
  if (ready) return { kind: "request", provider: ready };
  const empty = providers.find(({ id }) => status.providers.find((other) => other.id === id)?.keys.total === 0);
  return { kind: empty ? "key" : "request", provider: empty ?? first };
}

/** In the place of a list or a chart that is empty because nothing has happened yet. */
export function FirstSteps({ icon, title, description }: FirstStepsProps): ReactNode {
  const { t } = useTranslation();
  const step = useFirstStep();
  return (
    <Paper withBorder radius="md" p={{ base: "md", sm: "xl" }}>
      <Stack gap="lg">
        <EmptyState variant="light" icon={icon} title={title} description={description}>
          {step?.kind === "provider" && (
            <EmptyState.Actions>
              <Button component={Link} to="/settings/providers">
                {t("overview.chooseProvider")}
              </Button>
            </EmptyState.Actions>
          )}
          {step?.kind === "key" && (
            <EmptyState.Actions>
              <Button component={Link} to={`/settings/providers/${step.provider.slug}`}>
                {t("overview.addKeyTo", { name: step.provider.name })}
              </Button>
            </EmptyState.Actions>
          )}
        </EmptyState>
        {step?.kind === "request" && <SendFirst provider={step.provider} />}
      </Stack>
    </Paper>
  );
}

function SendFirst({ provider: { kind, slug, name } }: { readonly provider: Provider }): ReactNode {
  const { t } = useTranslation();
  const { token } = useClientToken();
  const [snippet] = snippetsFor({ kind, url: `${window.location.origin}/${slug}`, token });
  if (!snippet) return null;
  return (
    <Stack gap="xs" maw={720} w="100%" mx="auto">
      <Text size="sm" fw={600}>
        {t("overview.sendFirst", { name })}
      </Text>
      <CopyBlock value={snippet.code} label={t(`provider.${snippet.id}`)} />
    </Stack>
  );
}
