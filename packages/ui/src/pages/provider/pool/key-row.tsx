import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { ActionIcon, Button, Checkbox, Group, Menu, Stack, Switch, Text } from "@mantine/core";
import { useMergedRef } from "@mantine/hooks";
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
import { type CSSProperties, memo, type ReactNode, type Ref, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Key, Settings } from "../../../api/openapi.ts";
import { ManagedBadge } from "../../../parts/managed-badge.tsx";
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
  readonly actions: KeyActions;
  readonly deeds: RowDeeds;
  readonly measure: Ref<HTMLDivElement>;
  readonly index: number;
  readonly offset: number;
}

/** One key of the pool. Drawn again only when something of it has changed: a pool may be scrolled through by thousands. */
export const KeyRow = memo(function KeyRow(props: KeyRowProps): ReactNode {
  const { value: key, place, shares, isSelected, canMove, test, actions, deeds, cooldown, isNeverSelected } = props;
  const { t } = useTranslation();
  const name = nameOf(key);
  const sortable = useSortable({ id: key.id, disabled: !canMove });
  const { transform, transition, isDragging } = sortable;
  const ref = useMergedRef(sortable.setNodeRef, props.measure);
  const style: CSSProperties = {
    top: props.offset,
    transform: CSS.Translate.toString(transform),
    transition,
    zIndex: isDragging ? 2 : undefined,
  };
  const isRefused = key.status === "disabled" && key.status_reason?.code !== "disabled_by_operator";
  return (
    <div
      ref={ref}
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
            <Text size="sm" fw={600} className={classes.name} title={name} dir="auto">
              {name}
            </Text>
            {key.label !== "" && (
              <Text size="xs" c="dimmed" ff="monospace" className={classes.name}>
                {key.api_key}
              </Text>
            )}
            <ManagedBadge by={key.managed_by} />
            <Owner value={key} />
          </Stack>
        </div>
        <div role="cell" className={classes.weight}>
          <WeightField value={key} onChange={(weight) => actions.change(key, { weight })} />
          <ShareText value={key} shares={shares} />
        </div>
        <div role="cell" className={classes.enabled}>
          <EnabledSwitch value={key} onChange={(enabled) => actions.switchTo(key, enabled)} />
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
            <Button size="compact-xs" variant="light" onClick={() => void actions.switchTo(key, true)}>
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
});

/** The group that it was given, else whose the provider says that it is. */
function Owner({ value: { group, organization, project } }: { readonly value: Key }): ReactNode {
  const { t } = useTranslation();
  if (group === "" && organization === null) return null;
  const told = [organization, project].filter((name) => name !== null).join(" / ");
  const text = group === "" ? t("keys.organizationNamed", { organization: told }) : t("keys.groupNamed", { group });
  return (
    <Text
      size="xs"
      c="dimmed"
      className={classes.name}
      title={text}
      {...(group === "" && { "data-hint": t("keys.organizationHint") })}
    >
      {text}
    </Text>
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
    <Text size="xs" c="dimmed" data-hint={t("keys.shareNow")}>
      {text}
    </Text>
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
        <span tabIndex={0} className={classes.hinted} data-hint={t("keys.boundSessionsHint")}>
          {t("keys.sessions", { count: sessions })}
        </span>
        {" · "}
        {stats.last_used_at === null ? t("keys.lastUsedNever") : format.ago(stats.last_used_at)}
      </Text>
    </>
  );
}

function RowButtons(props: KeyRowProps): ReactNode {
  const { value: key, deeds } = props;
  const { t } = useTranslation();
  const name = nameOf(key);
  const isManaged = key.managed_by !== null;
  return (
    <Group gap={2} wrap="nowrap" justify="flex-end">
      <RowButton label={t("keys.test")} name={t("keys.testNamed", { name })} onClick={() => deeds.test(key)}>
        <IconPlugConnected size={16} />
      </RowButton>
      <RowButton
        label={t("keys.edit")}
        name={t("keys.editNamed", { name })}
        isOff={isManaged}
        onClick={() => deeds.edit(key)}
      >
        <IconPencil size={16} />
      </RowButton>
      <RowButton
        label={t("keys.delete")}
        name={t("keys.deleteNamed", { name })}
        isOff={isManaged}
        onClick={() => deeds.remove(key)}
      >
        <IconTrash size={16} />
      </RowButton>
      <RowMenu {...props} />
    </Group>
  );
}

/** A menu is much to draw, and most are never opened: until then there is only its button. */
function RowMenu(props: KeyRowProps): ReactNode {
  const { t } = useTranslation();
  const [isWanted, setWanted] = useState(false);
  if (isWanted) return <OpenedMenu {...props} />;
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-haspopup="menu"
      aria-expanded={false}
      aria-label={t("keys.actions", { name: nameOf(props.value) })}
      onClick={() => setWanted(true)}
    >
      <IconDots size={16} />
    </ActionIcon>
  );
}

function OpenedMenu({ value: key, place, total, canMove, actions, deeds }: KeyRowProps): ReactNode {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // It stands where the button stood that had the focus, which comes back here when the menu closes.
    button.current?.focus();
    setOpen(true);
  }, []);
  return (
    <Menu position="bottom-end" opened={isOpen} onChange={setOpen}>
      <Menu.Target>
        <ActionIcon ref={button} variant="subtle" color="gray" aria-label={t("keys.actions", { name: nameOf(key) })}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconRefresh size={16} />}
          disabled={key.consecutive_failures === 0 && key.cooldown_until === null}
          onClick={() => void actions.clearCooldown(key)}
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
  );
}

interface RowButtonProps {
  readonly label: string;
  readonly name: string;
  readonly isOff?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function RowButton({ label, name, isOff = false, onClick, children }: RowButtonProps): ReactNode {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={name} data-hint={label} disabled={isOff} onClick={onClick}>
      {children}
    </ActionIcon>
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
