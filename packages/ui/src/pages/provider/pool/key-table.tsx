import {
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  type UniqueIdentifier,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import { SortableContext, sortableKeyboardCoordinates, verticalListSortingStrategy } from "@dnd-kit/sortable";
import { Checkbox } from "@mantine/core";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Key, Settings } from "../../../api/openapi.ts";
import { Hints } from "../../../parts/hints.tsx";
import { nameOf, neverSelectedOf, sharesOf } from "./key-facts.ts";
import { KeyRow, type RowDeeds } from "./key-row.tsx";
import classes from "./key-table.module.css";
import type { KeyTest } from "./key-test.tsx";
import { useEnoughSince } from "./use-enough-since.ts";
import type { KeyActions } from "./use-key-actions.ts";

export interface KeyTableProps {
  /** All of the pool, in wheel order. */
  readonly keys: readonly Key[];
  /** Those to be shown. */
  readonly shown: readonly Key[];
  readonly selected: ReadonlySet<string>;
  readonly onSelectAll: (isSelected: boolean) => void;
  readonly tests: ReadonlyMap<string, KeyTest>;
  readonly cooldown: Settings["cooldown"];
  readonly actions: KeyActions;
  readonly deeds: RowDeeds;
}

/** What a row is taken to be high before it was drawn, in pixels. */
const rowHeight = 66;

/** The keys in wheel order, as many as fit the window at a time. */
export function KeyTable(props: KeyTableProps): ReactNode {
  const { keys, shown, selected, onSelectAll, tests, cooldown, actions, deeds } = props;
  const { t } = useTranslation();
  const list = useRef<HTMLDivElement>(null);
  const virtualizer = useRowsInWindow(list, shown);
  const places = useMemo(() => new Map(keys.map(({ id }, place) => [id, place])), [keys]);
  const shares = useMemo(() => sharesOf(keys), [keys]);
  const ids = useMemo(() => shown.map(({ id }) => id), [shown]);
  const enoughSince = useEnoughSince(keys[0]?.provider_id ?? "", keys);
  const isNeverSelected = useMemo(() => neverSelectedOf(keys, enoughSince), [keys, enoughSince]);
  const canMove = shown.length === keys.length && keys.length > 1;
  const chosen = shown.reduce((count, { id }) => count + (selected.has(id) ? 1 : 0), 0);

  return (
    <ReorderContext keys={keys} deeds={deeds}>
      <SortableContext items={ids} strategy={verticalListSortingStrategy}>
        <Hints className={classes.table} role="table" aria-label={t("keys.heading")} aria-rowcount={shown.length + 1}>
          <div role="row" aria-rowindex={1} className={classes.head}>
            <span role="columnheader">
              <Checkbox
                size="xs"
                ml={32}
                aria-label={t("keys.selectAll", { count: shown.length })}
                checked={chosen === shown.length && shown.length > 0}
                indeterminate={chosen > 0 && chosen < shown.length}
                onChange={(event) => onSelectAll(event.currentTarget.checked)}
              />
            </span>
            <span role="columnheader">{t("keys.colKey")}</span>
            <span role="columnheader">{t("keys.weight")}</span>
            <span role="columnheader">{t("keys.enabled")}</span>
            <span role="columnheader">{t("keys.status")}</span>
            <span role="columnheader">{t("keys.colRequests")}</span>
            <span role="columnheader">{t("keys.colActions")}</span>
          </div>
          <div role="rowgroup" ref={list} className={classes.list} style={{ height: virtualizer.getTotalSize() }}>
            {virtualizer.getVirtualItems().map(({ index, start }) => {
              const key = shown[index];
              if (!key) return null;
              return (
                <KeyRow
                  key={key.id}
                  value={key}
                  place={places.get(key.id) ?? 0}
                  total={keys.length}
                  shares={shares}
                  cooldown={cooldown}
                  isSelected={selected.has(key.id)}
                  isNeverSelected={isNeverSelected(key)}
                  canMove={canMove}
                  test={tests.get(key.id)}
                  actions={actions}
                  deeds={deeds}
                  measure={virtualizer.measureElement}
                  index={index}
                  offset={start - virtualizer.options.scrollMargin}
                />
              );
            })}
          </div>
        </Hints>
      </SortableContext>
    </ReorderContext>
  );
}

function useRowsInWindow(list: React.RefObject<HTMLDivElement | null>, shown: readonly Key[]) {
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    const measure = (): void => {
      const top = list.current ? list.current.getBoundingClientRect().top + window.scrollY : 0;
      setScrollMargin((before) => (Math.abs(before - top) < 1 ? before : top));
    };
    measure();
    // What stands above may grow or shrink at any time, and the page with it.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [list]);
  return useWindowVirtualizer({
    count: shown.length,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollMargin,
    getItemKey: (index) => shown[index]?.id ?? index,
  });
}

interface ReorderContextProps {
  readonly keys: readonly Key[];
  readonly deeds: RowDeeds;
  readonly children: ReactNode;
}

/** Dragging by mouse, touch and keyboard, with what a screen reader says meanwhile. */
function ReorderContext({ keys, deeds, children }: ReorderContextProps): ReactNode {
  const { t } = useTranslation();
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const total = keys.length;
  const at = (id: UniqueIdentifier | undefined): number => keys.findIndex((key) => key.id === id);
  const words = (active: UniqueIdentifier, over: UniqueIdentifier | undefined) => {
    const key = keys[at(active)];
    return { name: key ? nameOf(key) : "", place: at(over ?? active) + 1, total };
  };
  const onDragEnd = ({ active, over }: DragEndEvent): void => {
    const key = keys[at(active.id)];
    if (key && over && over.id !== active.id) deeds.move(key, at(over.id));
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      onDragEnd={onDragEnd}
      accessibility={{
        // The handle's own name says how.
        screenReaderInstructions: { draggable: "" },
        announcements: {
          onDragStart: ({ active }) => t("keys.movedLifted", words(active.id, undefined)),
          // Over itself is where it is right after it was lifted.
          onDragOver: ({ active, over }) =>
            active.id === over?.id
              ? t("keys.movedLifted", words(active.id, undefined))
              : t("keys.movedOver", words(active.id, over?.id)),
          onDragEnd: ({ active, over }) => t("keys.moved", words(active.id, over?.id)),
          onDragCancel: ({ active }) => t("keys.movedCancelled", { name: words(active.id, undefined).name }),
        },
      }}
    >
      {children}
    </DndContext>
  );
}
