import { ActionIcon, Box, Code, CopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import classes from "./copy-text.module.css";

/** A button that copies. @param what named for those who cannot see what it stands beside */
export function CopyIcon({ value, what }: { readonly value: string; readonly what?: string }): ReactNode {
  const { t } = useTranslation();
  return (
    <CopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t("common.copied") : t("common.copy")}>
          <ActionIcon
            variant="subtle"
            color={copied ? "teal" : "gray"}
            onClick={copy}
            aria-label={what === undefined ? t("common.copy") : `${t("common.copy")}: ${what}`}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A line that people take with them, such as an address. */
export function CopyText({ value }: { readonly value: string }): ReactNode {
  return (
    <span className={classes.line}>
      <Code className={classes.text}>{value}</Code>
      <CopyIcon value={value} what={value} />
    </span>
  );
}

/** Several lines of program text with a button that copies them. */
export function CopyBlock({ value, label }: { readonly value: string; readonly label: string }): ReactNode {
  return (
    <Box className={classes.block}>
      <pre className={classes.code} tabIndex={0} aria-label={label}>
        {value}
      </pre>
      <span className={classes.corner}>
        <CopyIcon value={value} what={label} />
      </span>
    </Box>
  );
}
