import { Alert, Button, Group, List, ScrollArea, Stack, Table, Text, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "../../../api/client.ts";
import { useErrorText } from "../../../api/error-text.ts";
import { useFaultText } from "../../../api/fault-text.ts";
import type { KeyImportResult } from "../../../api/openapi.ts";
import { queryKeys } from "../../../api/query-keys.ts";
import { CancelButton } from "../../../parts/dialog.tsx";
import { useDialog } from "../../../parts/dialog-context.ts";
import { type AtStake, FormDialog } from "../../../parts/form-dialog.tsx";
import { useDialogCall } from "../../../parts/use-dialog-call.ts";
import { useStake } from "../../../parts/use-stake.ts";
import { useNotify } from "../../../parts/notify.ts";

/** A long list is counted, and its beginning shown. */
const mostRows = 200;

export interface ImportDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly providerId: string;
}

/** Takes a pasted list of keys, shows what it understood, and adds it once that is confirmed. */
export function ImportDialog({ isOpen, onClose, providerId }: ImportDialogProps): ReactNode {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} size="lg" title={t("keys.importHeading")}>
      {(onStake) => <ImportSteps providerId={providerId} onStake={onStake} />}
    </FormDialog>
  );
}

interface ImportStepsProps extends Pick<ImportDialogProps, "providerId"> {
  readonly onStake: (stake: AtStake) => void;
}

function ImportSteps({ providerId, onStake }: ImportStepsProps): ReactNode {
  const [text, setText] = useState("");
  const [preview, setPreview] = useState<KeyImportResult>();
  const [result, setResult] = useState<KeyImportResult>();
  useStake(text.trim() !== "" && result === undefined, onStake);
  const params = { id: providerId };
  const client = useQueryClient();
  const { isBusy, close } = useDialog();
  const check = useDialogCall({
    send: () => call("POST /api/providers/{id}/keys/import", { params, body: { text, dry_run: true } }),
    onDone: setPreview,
  });
  const { t } = useTranslation();
  const notify = useNotify();
  const add = useDialogCall({
    send: async () => {
      const answer = await call("POST /api/providers/{id}/keys/import", { params, body: { text } });
      await client.invalidateQueries({ queryKey: queryKeys.keys(providerId) });
      void client.invalidateQueries({ queryKey: queryKeys.preview(providerId) });
      notify.done(t("keys.importAdded", { count: answer.added.length }));
      return answer;
    },
    onDone: (answer) => {
      if (answer.skipped.length === 0) close();
      else setResult(answer);
    },
  });

  if (result) return <Outcome result={result} onClose={close} />;
  if (preview) {
    return (
      <Preview
        preview={preview}
        isBusy={isBusy}
        error={add.error}
        onBack={() => setPreview(undefined)}
        onConfirm={() => add.run()}
      />
    );
  }
  return <PasteForm text={text} onChange={setText} isBusy={isBusy} error={check.error} onCheck={() => check.run()} />;
}

interface PasteFormProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onCheck: () => void;
}

function PasteForm({ text, onChange, isBusy, error, onCheck }: PasteFormProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCheck();
      }}
    >
      <Stack>
        <Textarea
          label={t("keys.importLabel")}
          description={t("keys.importHint")}
          placeholder={"sk-…\n$OPENAI_KEY_2,Production Key #2,3"}
          autosize
          minRows={6}
          maxRows={14}
          spellCheck={false}
          autoComplete="off"
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          data-autofocus
          value={text}
          error={error ? errorText(error) : undefined}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          <CancelButton />
          <Button type="submit" loading={isBusy} disabled={text.trim() === ""}>
            {t("keys.importPreview")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface PreviewProps {
  readonly preview: KeyImportResult;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onBack: () => void;
  readonly onConfirm: () => void;
}

function Preview({ preview, isBusy, error, onBack, onConfirm }: PreviewProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const { understood = [], skipped } = preview;
  return (
    <Stack>
      <Text size="sm" fw={600} role="status">
        {understood.length === 0 ? t("keys.importNothing") : t("keys.importUnderstood", { count: understood.length })}
      </Text>
      {understood.length > 0 && (
        <ScrollArea.Autosize mah={280} viewportProps={{ tabIndex: 0, "aria-label": t("keys.importLabel") }}>
          <Table stickyHeader fz="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("keys.apiKey")}</Table.Th>
                <Table.Th>{t("keys.label")}</Table.Th>
                <Table.Th>{t("keys.weight")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {understood.slice(0, mostRows).map((row) => (
                <Table.Tr key={`${row.line} ${row.api_key}`}>
                  <Table.Td ff="monospace">{row.api_key}</Table.Td>
                  <Table.Td>{row.label}</Table.Td>
                  <Table.Td>{row.weight}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
      <Skipped skipped={skipped} />
      {error !== null && (
        <Alert color="red" role="alert">
          {errorText(error)}
        </Alert>
      )}
      <Group justify="flex-end">
        <Button variant="default" disabled={isBusy} onClick={onBack}>
          {t("keys.importAgain")}
        </Button>
        <Button loading={isBusy} disabled={understood.length === 0} onClick={onConfirm} data-autofocus>
          {t("common.confirm")}
        </Button>
      </Group>
    </Stack>
  );
}

function Outcome({ result, onClose }: { readonly result: KeyImportResult; readonly onClose: () => void }): ReactNode {
  const { t } = useTranslation();
  return (
    <Stack>
      <Alert color="teal" role="status" title={t("keys.importAdded", { count: result.added.length })} />
      <Skipped skipped={result.skipped} />
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          {t("common.close")}
        </Button>
      </Group>
    </Stack>
  );
}

function Skipped({ skipped }: Pick<KeyImportResult, "skipped">): ReactNode {
  const { t } = useTranslation();
  const faultText = useFaultText();
  if (skipped.length === 0) return null;
  const refused = skipped.filter(({ code }) => code === "refused").length;
  const repeated = skipped.length - refused;
  const counts = [
    ...(repeated > 0 ? [t("keys.importRepeated", { count: repeated })] : []),
    ...(refused > 0 ? [t("keys.importRefused", { count: refused })] : []),
  ];
  return (
    <Alert color="yellow" title={counts.join(" · ")}>
      <ScrollArea.Autosize mah={180} viewportProps={{ tabIndex: 0, "aria-label": counts.join(", ") }}>
        <List size="xs" listStyleType="none">
          {skipped.slice(0, mostRows).map(({ line, fault, params, reason, masked }) => (
            <List.Item key={`${line} ${masked}`}>
              {t("keys.importLine", { line })}:{" "}
              <Text span ff="monospace" size="xs">
                {masked}
              </Text>{" "}
              {faultText({ code: fault, message: reason, ...(params ? { params } : {}) })}
            </List.Item>
          ))}
        </List>
      </ScrollArea.Autosize>
    </Alert>
  );
}
