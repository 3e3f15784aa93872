import { Anchor } from "@mantine/core";
import { memo, type ReactNode, useMemo } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CopyBlock } from "../../parts/copy-text.tsx";
import classes from "./markdown.module.css";

const plugins = [remarkGfm];

export interface MarkdownProps {
  readonly text: string;
  /** Keeps the footnotes of one answer from those of another. */
  readonly scope: string;
}

/**
 * What a model wrote. It is not trusted: HTML in it is shown as the text that it is, pictures are links instead of being
 * fetched from whoever they point to, and only links to the web and to mail are links.
 */
export const Markdown = memo(function Markdown({ text, scope }: MarkdownProps): ReactNode {
  const { t } = useTranslation();
  const footnotes = useMemo(
    () => ({
      clobberPrefix: `${scope}-`,
      footnoteLabel: t("chat.footnotes"),
      footnoteLabelProperties: {},
      footnoteBackLabel: t("chat.footnoteBack"),
    }),
    [scope, t],
  );
  return (
    <div className={classes.text}>
      <ReactMarkdown
        remarkPlugins={plugins}
        remarkRehypeOptions={footnotes}
        components={components}
        urlTransform={safeUrl}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** @returns "" for what is no link: scripts, files, and paths, which would lead into this gateway */
export function safeUrl(url: string): string {
  if (url.startsWith("#")) return url;
  const parsed = URL.parse(url);
  return parsed !== null && ["http:", "https:", "mailto:"].includes(parsed.protocol) ? url : "";
}

const components: Components = {
  a: ({ href, children, id, "aria-label": label }) => {
    if (href === undefined || href === "") return <span>{children}</span>;
    if (href.startsWith("#")) {
      return (
        <Anchor href={href} id={id} aria-label={label} underline="always" inherit>
          {children}
        </Anchor>
      );
    }
    return (
      <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" underline="always" inherit>
        {children}
      </Anchor>
    );
  },
  img: Picture,
  pre: CodeBlock,
  table: Table,
  // Whatever level a model begins with, its headings stand below those of the page.
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  // The box of a task list, which nobody can tick here.
  input: ({ checked }) => <span className={classes.box}>{checked === true ? "☑" : "☐"}</span>,
};

function Heading({ node, children }: { readonly children?: ReactNode } & ExtraProps): ReactNode {
  return (
    <h3 className={classes.heading} data-level={node?.tagName}>
      {children}
    </h3>
  );
}

function Picture({ src, alt }: { readonly src?: unknown; readonly alt?: string | undefined }): ReactNode {
  const { t } = useTranslation();
  const label = alt === undefined || alt === "" ? t("chat.picture") : t("chat.pictureOf", { alt });
  if (typeof src !== "string" || src === "") return <span>{label}</span>;
  return (
    <Anchor href={src} target="_blank" rel="noopener noreferrer nofollow" underline="always" inherit>
      {label}
    </Anchor>
  );
}

function Table({ children }: { readonly children?: ReactNode }): ReactNode {
  const { t } = useTranslation();
  return (
    <div className={classes.table} role="group" tabIndex={0} aria-label={t("chat.table")}>
      <table>{children}</table>
    </div>
  );
}

function CodeBlock({ node }: ExtraProps): ReactNode {
  const { t } = useTranslation();
  const code = node?.children[0];
  if (code?.type !== "element") return null;
  const value = code.children.map((child) => (child.type === "text" ? child.value : "")).join("");
  const language = languageOf(code.properties.className);
  return (
    <div className={classes.code}>
      {language !== undefined && <span className={classes.language}>{language}</span>}
      <CopyBlock value={value.replace(/\n$/, "")} label={language ?? t("chat.code")} />
    </div>
  );
}

function languageOf(className: unknown): string | undefined {
  const names: readonly unknown[] = Array.isArray(className) ? className : [];
  const found = names.find((name) => typeof name === "string" && name.startsWith("language-"));
  return typeof found === "string" ? found.slice("language-".length) : undefined;
}
