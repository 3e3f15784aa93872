import { Text } from "@mantine/core";
import { IconCheck, IconChevronRight, IconMinus, IconX } from "@tabler/icons-react";
import { Fragment, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Attempt } from "../../api/openapi.ts";
import { keyNameOf } from "../../parts/key-name.ts";
import { outcomeLabel } from "../../parts/outcomes.ts";
import tones from "../../parts/tone.module.css";
import classes from "./request-list.module.css";
import { type Tone, toneOfAttempt, whyShort } from "./request-facts.ts";

export const toneIcons = { good: IconCheck, bad: IconX, neutral: IconMinus } as const satisfies Record<Tone, unknown>;

/** More are told in the details. */
const mostShown = 3;

/** The keys that were tried, in order, each with what became of it. */
export function AttemptPath({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  const { t } = useTranslation();
  if (attempts.length === 0)
    return (
      <Text size="xs" c="dimmed" className={classes.none}>
        –
      </Text>
    );
  const [only] = attempts;
  if (attempts.length === 1 && only?.outcome === "succeeded") {
    return (
      <span className={classes.mark}>
        <toneIcons.good size={13} className={tones.good} aria-hidden />
        <span className={classes.servedBy} dir="auto" title={keyNameOf(only, t)} aria-hidden>
          {keyNameOf(only, t)}
        </span>
        <Text size="xs" className={classes.why}>
          {whyShort(only, t)}
        </Text>
      </span>
    );
  }
  const left = attempts.length - mostShown;
  // The last ones tell how it ended.
  const shown = left > 0 ? attempts.slice(-mostShown) : attempts;
  return (
    <span className={classes.path}>
      {left > 0 && <span>+{left}</span>}
      {shown.map((attempt, place) => (
        <Fragment key={`${attempt.key_id}${attempt.started_at}${place}`}>
          {(place > 0 || left > 0) && <IconChevronRight size={12} aria-hidden className={tones.neutral} />}
          <AttemptMark attempt={attempt} label={`${keyNameOf(attempt, t)}: ${outcomeLabel(attempt.outcome, t)}`} />
        </Fragment>
      ))}
    </span>
  );
}

function AttemptMark({ attempt, label }: { readonly attempt: Attempt; readonly label: string }): ReactNode {
  const { t } = useTranslation();
  const tone = toneOfAttempt(attempt);
  const Icon = toneIcons[tone];
  const name = keyNameOf(attempt, t);
  const word = tone === "good" ? "" : outcomeLabel(attempt.outcome, t);
  return (
    <span className={classes.mark} title={label}>
      <Icon size={13} className={tones[tone]} aria-hidden />
      <bdi className={classes.name}>{name}</bdi>
      {word !== "" && <span className={tones[tone]}>{word}</span>}
    </span>
  );
}
