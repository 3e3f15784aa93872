import { Badge, Box, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Key } from "../../../api/openapi.ts";
import { previewQuery } from "../../../api/queries.ts";
import { colorOf } from "./key-colors.ts";
import { nameOf } from "./key-facts.ts";
import { arcPath, placeOfNext, slotsOf, turnForwards } from "./wheel-geometry.ts";
import classes from "./wheel.module.css";

const size = 200;
const ring = { center: size / 2, inner: 58, outer: 84, gap: 2.5 };
const shownTurns = 12;
/** The heaviest key's run is seen to its end, so that its slots can be counted back. */
const askedTurns = 101;

/** The wheel, drawn: slots in order, whose turn is next, who rests. It moves as requests come in. */
export function Wheel({ providerId, keys }: { readonly providerId: string; readonly keys: readonly Key[] }): ReactNode {
  const { t } = useTranslation();
  const { data: turns = [] } = useQuery(previewQuery(providerId, askedTurns));
  const byId = useMemo(() => new Map(keys.map((key, place) => [key.id, { key, place }])), [keys]);
  const slots = keys.reduce((sum, { weight }) => sum + weight, 0);
  const next = byId.get(turns[0] ?? "");
  return (
    <Paper withBorder radius="md" p="md">
      <div className={classes.layout}>
        <Drawing keys={keys} turns={turns} slots={slots} next={next?.key} />
        <Stack gap="sm" miw={0}>
          <Group gap="xs" align="baseline">
            <Title order={3}>{t("keys.wheel")}</Title>
            <Text size="xs" c="dimmed">
              {t("keys.wheelSlots", { count: slots })} · {t("keys.wheelKeys", { count: keys.length })}
            </Text>
          </Group>
          <Text size="sm" c="dimmed">
            {t("keys.wheelHint")}
          </Text>
          <Text size="sm" fw={600} id="next-turns">
            {t("keys.wheelNextTurns")}
          </Text>
          {next === undefined ? (
            <Text size="sm">{t("keys.wheelNobody")}</Text>
          ) : (
            <Group component="ol" gap={6} m={0} p={0} aria-labelledby="next-turns" className={classes.turns}>
              {turns.slice(0, shownTurns).map((id, turn) => {
                const found = byId.get(id);
                return (
                  found && (
                    // A turn is its place in the row: the same key may come again.
                    <li key={turn} data-next={turn === 0 || undefined}>
                      <span className={classes.dot} style={{ background: colorOf(found.place) }} aria-hidden />
                      <span className={classes.turnName} title={nameOf(found.key)} dir="auto">
                        {nameOf(found.key)}
                      </span>
                    </li>
                  )
                );
              })}
            </Group>
          )}
        </Stack>
      </div>
    </Paper>
  );
}

interface DrawingProps {
  readonly keys: readonly Key[];
  readonly turns: readonly string[];
  readonly slots: number;
  readonly next: Key | undefined;
}

function Drawing({ keys, turns, slots, next }: DrawingProps): ReactNode {
  const { t } = useTranslation();
  const pieces = useMemo(() => slotsOf(keys), [keys]);
  const places = useMemo(() => new Map(keys.map((key, place) => [key.id, { key, place }])), [keys]);
  const angle = useForwardAngle(placeOfNext(keys, turns));
  if (!pieces) return null;
  const label = t("keys.wheelImage", { slots, next: next ? nameOf(next) : "–" });
  return (
    <Box className={classes.drawing}>
      <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
        {pieces.map((slot) => {
          const found = places.get(slot.keyId);
          if (!found) return null;
          const isResting = found.key.status !== "available";
          return (
            <path
              key={slot.from}
              d={arcPath(slot, ring)}
              className={isResting ? classes.resting : classes.slot}
              style={{ fill: colorOf(found.place), stroke: colorOf(found.place) }}
            />
          );
        })}
        {angle !== undefined && (
          <g className={classes.pointer} style={{ transform: `rotate(${angle}turn)` }}>
            <path d={`M ${size / 2} ${size / 2 - ring.outer - 3} l -7 -11 h 14 Z`} />
          </g>
        )}
      </svg>
      <div className={classes.center}>
        <Badge size="xs" variant="default" tt="none">
          {t("keys.wheelNext")}
        </Badge>
        <Text size="xs" fw={600} className={classes.centerName} title={next && nameOf(next)} dir="auto">
          {next ? nameOf(next) : "–"}
        </Text>
      </div>
    </Box>
  );
}

/** The pointer's angle in turns, growing for ever, so that it never runs back past the top. */
function useForwardAngle(place: number | undefined): number | undefined {
  const [angle, setAngle] = useState(place);
  if (place === undefined) return undefined;
  const next = angle === undefined ? place : turnForwards(angle, place);
  if (next !== angle) setAngle(next);
  return next;
}
