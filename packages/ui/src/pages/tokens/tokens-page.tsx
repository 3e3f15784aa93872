import { Alert, Anchor, Button, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconInfoCircle, IconPlus, IconSearch, IconShieldLock, IconTicket } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Token } from "../../api/openapi.ts";
import { providersQuery, statusQuery, tokensQuery } from "../../api/queries.ts";
import { LoadFailed } from "../../parts/load-failed.tsx";
import { NoneYet } from "../../parts/none-yet.tsx";
import { Page } from "../../parts/page.tsx";
import { RowList } from "../../parts/row-list.tsx";
import { CreateTokenDialog } from "./create-token-dialog.tsx";
import { EditTokenDialog } from "./edit-token-dialog.tsx";
import { RevokeTokenDialog } from "./revoke-token-dialog.tsx";
import { connectPath } from "./token-facts.ts";
import { TokenRow } from "./token-row.tsx";

/** From so many on, a list is searched rather than read. */
const searchFrom = 6;

/** The tokens that clients show to the gateway. */
export function TokensPage(): ReactNode {
  const { t } = useTranslation();
  const { data: tokens, error, refetch, isPending } = useQuery(tokensQuery);
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Token>();
  const [edited, setEdited] = useState<Token>();
  const { data: providers } = useQuery(providersQuery);
  const isEmpty = tokens?.length === 0;
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
      {t("tokens.create")}
    </Button>
  );
  return (
    <Page title={t("tokens.heading")} description={t("tokens.intro")} actions={tokens && !isEmpty && create}>
      <Stack>
        {isPending && <Skeleton h={120} radius="md" aria-busy />}
        {error && <LoadFailed error={error} onRetry={() => void refetch()} />}
        {isEmpty && (
          <NoneYet
            icon={<IconTicket />}
            title={t("tokens.noneYet")}
            description={<Explanation />}
            actions={
              <>
                {create}
                <ConnectButton />
              </>
            }
          />
        )}
        {tokens && !isEmpty && <WhetherRequired />}
        {tokens && !isEmpty && <TokenList tokens={tokens} onEdit={setEdited} onRevoke={setRevoked} />}
      </Stack>
      <CreateTokenDialog isOpen={isCreating} onClose={() => setCreating(false)} />
      {providers && <EditTokenDialog token={edited} providers={providers} onClose={() => setEdited(undefined)} />}
      <RevokeTokenDialog token={revoked} onClose={() => setRevoked(undefined)} />
    </Page>
  );
}

function Explanation(): ReactNode {
  const { t } = useTranslation();
  const { data: status } = useQuery(statusQuery);
  return (
    <Stack gap="xs" component="span">
      <span>{t("tokens.whatItIs")}</span>
      {status && <span>{status.require_token ? t("tokens.isRequiredNone") : t("tokens.whenNeeded")}</span>}
    </Stack>
  );
}

/** Says whether a client without a token is served at all: whoever made one believes that none is. */
function WhetherRequired(): ReactNode {
  const { t } = useTranslation();
  const { data: status } = useQuery(statusQuery);
  if (!status) return null;
  const isRequired = status.require_token;
  return (
    <Alert
      color={isRequired ? "teal" : "yellow"}
      icon={isRequired ? <IconShieldLock /> : <IconInfoCircle />}
      title={isRequired ? t("tokens.required") : t("tokens.notRequired")}
    >
      {isRequired ? t("tokens.requiredHint") : t("tokens.notRequiredHint")}{" "}
      <Anchor component={Link} to={useConnectPath()} size="sm" underline="always">
        {t("provider.connect")}
      </Anchor>
    </Alert>
  );
}

interface TokenListProps {
  readonly tokens: readonly Token[];
  readonly onEdit: (token: Token) => void;
  readonly onRevoke: (token: Token) => void;
}

function TokenList({ tokens, onEdit, onRevoke }: TokenListProps): ReactNode {
  const { t } = useTranslation();
  const { data: providers } = useQuery(providersQuery);
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = tokens.filter(({ name, prefix }) => `${name} ${prefix}`.toLowerCase().includes(wanted));
  return (
    <Stack>
      {tokens.length >= searchFrom && (
        <TextInput
          type="search"
          maw={360}
          aria-label={t("tokens.search")}
          placeholder={t("tokens.search")}
          leftSection={<IconSearch size={16} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      {found.length === 0 && <Text c="dimmed">{t("tokens.nothingFound", { search })}</Text>}
      <RowList label={t("tokens.heading")}>
        {found.map((token) => (
          <TokenRow
            key={token.id}
            token={token}
            providers={providers}
            onEdit={() => onEdit(token)}
            onRevoke={() => onRevoke(token)}
          />
        ))}
      </RowList>
    </Stack>
  );
}

function ConnectButton(): ReactNode {
  const { t } = useTranslation();
  return (
    <Button variant="default" component={Link} to={useConnectPath()}>
      {t("provider.connect")}
    </Button>
  );
}

function useConnectPath(): string {
  const { data: providers } = useQuery(providersQuery);
  return connectPath(providers);
}
