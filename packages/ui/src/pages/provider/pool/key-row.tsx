import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { ActionIcon, Button, Checkbox, Group, Menu, Stack, Switch, Text, Tooltip } from "@mantine/core";
import {
  IconArrowBarToDown,
  IconArrowBarToUp,
  IconArrowDown,
  IconArrowUp,
  IconDots,
  IconGripVertical,
  IconPencil,
  IconPlugConnected,
  IconRefresh,
  IconTrash,
} from "@tabler/icons-react";
import { type CSSProperties, type ReactNode, type Ref, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Key, Settings } from "../../../api/openapi.ts";
import { useFormat } from "../../../format/format.ts";
import { colorOf } from "./key-colors.ts";
import { nameOf, type Shares } from "./key-facts.ts";
import { KeyReason, KeyStatus } from "./key-status.tsx";
import { type KeyTest, KeyTestLine } from "./key-test.tsx";
import classes from "./key-table.module.css";
import type { KeyActions } from "./use-key-actions.ts";
import { WeightField } from "./weight-field.tsx";

/** What a row asks of the section that it stands in. */
export interface RowDeeds {
  readonly actions: KeyActions;
  readonly edit: (key: Key) => void;
  readonly remove: (key: Key) => void;
  readonly test: (key: Key) => void;
  readonly dismissTest: (key: Key) => void;
  readonly select: (key: Key, isSelected: boolean) => void;
  /** @param place from 0 */
  readonly move: (key: Key, place: number) => void;
}

export interface KeyRowProps {
  readonly value: Key;
  /** On the wheel, from 0. */
  readonly place: number;
  readonly total: number;
  readonly shares: Shares;
  readonly cooldown: Settings["cooldown"];
  readonly isSelected: boolean;
  readonly isNeverSelected: boolean;
  /** False while only a part of the keys is shown: a place among some says nothing. */
  readonly canMove: boolean;
  readonly test: KeyTest | undefined;
  readonly deeds: RowDeeds;
  readonly measure: Ref<HTMLDivElement>;
  readonly index: number;
  readonly offset: number;
}

/** One key of the pool. */
export function KeyRow(props: KeyRowProps): ReactNode {
  const { value: key, place, shares, isSelected, canMove, test, deeds, cooldown, isNeverSelected } = props;
  const { t } = useTranslation();
  const name = nameOf(key);
  const sortable = useSortable({ id: key.id, disabled: !canMove });
  const { setNodeRef, transform, transition, isDragging } = sortable;
  const style: CSSProperties = {
    top: props.offset,
    transform: CSS.Translate.toString(transform),
    transition,
    zIndex: isDragging ? 2 : undefined,
  };
  const isRefused = key.status === "disabled" && key.status_reason?.code !== "disabled_by_operator";
  return (
    <div
      ref={(node) => {
        setNodeRef(node);
        if (typeof props.measure === "function") props.measure(node);
      }}
      data-index={props.index}
      data-dragging={isDragging || undefined}
      className={classes.place}
      style={style}
      role="row"
      aria-rowindex={props.index + 2}
      aria-selected={isSelected}
    >
      <div className={classes.row} data-dimmed={key.status !== "available" || undefined}>
        <div role="cell" className={classes.handle}>
          <ActionIcon
            ref={sortable.setActivatorNodeRef}
            variant="transparent"
            color="gray"
            className={classes.grip}
            disabled={!canMove}
            {...sortable.attributes}
            {...sortable.listeners}
            aria-label={t("keys.moveNamed", { name })}
          >
            <IconGripVertical size={16} />
          </ActionIcon>
          <Checkbox
            size="xs"
            aria-label={t("keys.select", { name })}
            checked={isSelected}
            onChange={(event) => deeds.select(key, event.currentTarget.checked)}
          />
        </div>
        <div role="cell" className={classes.key}>
          <span className={classes.color} style={{ background: colorOf(place) }} aria-hidden />
          <Stack gap={0} miw={0}>
            <Text size="sm" fw={600} className={classes.name}>
              {name}
            </Text>
            {key.label !== "" && (
              <Text size="xs" c="dimmed" ff="monospace" className={classes.name}>
                {key.api_key}
              </Text>
            )}
          </Stack>
        </div>
        <div role="cell" className={classes.weight}>
          <WeightField value={key} onChange={(weight) => deeds.actions.change(key, { weight })} />
          <ShareText value={key} shares={shares} />
        </div>
        <div role="cell" className={classes.enabled}>
          <EnabledSwitch value={key} onChange={(enabled) => deeds.actions.switchTo(key, enabled)} />
        </div>
        <div role="cell" className={classes.status}>
          <KeyStatus value={key} />
        </div>
        <div role="cell" className={classes.usage}>
          <Usage value={key} />
        </div>
        <div role="cell" className={classes.actions}>
          <RowButtons {...props} />
        </div>
        <div role="cell" className={classes.more}>
          <KeyReason value={key} cooldown={cooldown} />
          {isRefused && (
            <Button size="compact-xs" variant="light" onClick={() => void deeds.actions.switchTo(key, true)}>
              {t("keys.enableAgain")}
            </Button>
          )}
          {isNeverSelected && (
            <Text size="xs" c="dimmed">
              {t("keys.neverSelected")}
            </Text>
          )}
          {test && <KeyTestLine test={test} onDismiss={() => deeds.dismissTest(key)} />}
        </div>
      </div>
    </div>
  );
}

function ShareText({ value, shares }: { readonly value: Key; readonly shares: Shares }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  const now = shares.now(value);
  const text =
    now === undefined
      ? t("keys.shareWhenBack", { share: format.percent(shares.whenBack(value)) })
      : t("keys.share", { share: format.percent(now) });
  return (
    <Tooltip label={t("keys.shareNow")}>
      <Text size="xs" c="dimmed">
        {text}
      </Text>
    </Tooltip>
  );
}

interface EnabledSwitchProps {
  readonly value: Key;
  readonly onChange: (enabled: boolean) => Promise<void>;
}

function EnabledSwitch({ value: key, onChange }: EnabledSwitchProps): ReactNode {
  const { t } = useTranslation();
  const [wanted, setWanted] = useState<boolean>();
  return (
    <Switch
      size="sm"
      aria-label={t("keys.enabledNamed", { name: nameOf(key) })}
      checked={wanted ?? key.enabled}
      onChange={(event) => {
        setWanted(event.currentTarget.checked);
        void onChange(event.currentTarget.checked).finally(() => setWanted(undefined));
      }}
    />
  );
}

function Usage({ value: { stats, bound_sessions: sessions } }: { readonly value: Key }): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <>
      <Text size="xs">
        {t("keys.requests", { count: stats.requests })}
        {stats.failures > 0 && ` · ${t("keys.errors", { count: stats.failures })}`}
      </Text>
      <Text size="xs" c="dimmed">
        <Tooltip label={t("keys.boundSessionsHint")}>
          <span tabIndex={0} className={classes.hinted}>
            {t("keys.sessions", { count: sessions })}
          </span>
        </Tooltip>
        {" · "}
        {stats.last_used_at === null ? t("keys.lastUsedNever") : format.ago(stats.last_used_at)}
      </Text>
    </>
  );
}

function RowButtons({ value: key, place, total, canMove, deeds }: KeyRowProps): ReactNode {
  const { t } = useTranslation();
  const name = nameOf(key);
  return (
    <Group gap={2} wrap="nowrap" justify="flex-end">
      <RowButton label={t("keys.test")} name={t("keys.testNamed", { name })} onClick={() => deeds.test(key)}>
        <IconPlugConnected size={16} />
      </RowButton>
      <RowButton label={t("keys.edit")} name={t("keys.editNamed", { name })} onClick={() => deeds.edit(key)}>
        <IconPencil size={16} />
      </RowButton>
      <RowButton label={t("keys.delete")} name={t("keys.deleteNamed", { name })} onClick={() => deeds.remove(key)}>
        <IconTrash size={16} />
      </RowButton>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t("keys.actions", { name })}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconRefresh size={16} />}
            disabled={key.consecutive_failures === 0 && key.cooldown_until === null}
            onClick={() => void deeds.actions.clearCooldown(key)}
          >
            {t("keys.clearCooldown")}
          </Menu.Item>
          <Menu.Divider />
          <MoveItem
            icon={<IconArrowUp size={16} />}
            label={t("keys.moveUp")}
            isOff={!canMove || place === 0}
            onClick={() => deeds.move(key, place - 1)}
          />
          <MoveItem
            icon={<IconArrowDown size={16} />}
            label={t("keys.moveDown")}
            isOff={!canMove || place === total - 1}
            onClick={() => deeds.move(key, place + 1)}
          />
          <MoveItem
            icon={<IconArrowBarToUp size={16} />}
            label={t("keys.moveToTop")}
            isOff={!canMove || place === 0}
            onClick={() => deeds.move(key, 0)}
          />
          <MoveItem
            icon={<IconArrowBarToDown size={16} />}
            label={t("keys.moveToBottom")}
            isOff={!canMove || place === total - 1}
            onClick={() => deeds.move(key, total - 1)}
          />
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

interface RowButtonProps {
  readonly label: string;
  readonly name: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function RowButton({ label, name, onClick, children }: RowButtonProps): ReactNode {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={name} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

interface MoveItemProps {
  readonly icon: ReactNode;
  readonly label: string;
  readonly isOff: boolean;
  readonly onClick: () => void;
}

function MoveItem({ icon, label, isOff, onClick }: MoveItemProps): ReactNode {
  return (
    <Menu.Item leftSection={icon} disabled={isOff} onClick={onClick}>
      {label}
    </Menu.Item>
  );
}
