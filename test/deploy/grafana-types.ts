import type { Dashboard, FieldConfigSource, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";
import type { Options as StatOptions } from "@grafana/grafana-foundation-sdk/stat";
import type { FieldConfig as TableField, Options as TableOptions } from "@grafana/grafana-foundation-sdk/table";
import type {
  FieldConfig as TimeSeriesField,
  Options as TimeSeriesOptions,
} from "@grafana/grafana-foundation-sdk/timeseries";

// A dashboard as it lies in a file, in the words of Grafana's own SDK.

/** As JSON has it: an enumeration by its values, without methods. What has a default may be left out. */
type Json<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}` extends `${infer Value extends number}`
      ? Value
      : number
    : T extends readonly (infer Item)[]
      ? readonly Json<Item>[]
      : T extends object
        ? { readonly [Name in keyof T as T[Name] extends (...of: never[]) => unknown ? never : Name]: Json<T[Name]> }
        : T;
type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]?: DeepPartial<T[Name]> }
    : T;

/** What every panel has beside what is of its kind. */
type Common = Omit<Json<Panel>, "type" | "options" | "fieldConfig" | "targets">;
type Field = Json<FieldConfigSource>;

interface PanelOf<Kind extends string, Options, Custom> extends Common {
  readonly type: Kind;
  readonly options: DeepPartial<Json<Options>>;
  readonly fieldConfig: Omit<Field, "defaults"> & {
    readonly defaults: Omit<Field["defaults"], "custom"> & { readonly custom?: DeepPartial<Json<Custom>> };
  };
  readonly targets: readonly Json<Dataquery>[];
}

// oxlint-disable-next-line typescript/no-deprecated -- the form that every Grafana imports; the newer one is a resource of Grafana 12 and up
export type DashboardFile = Omit<Json<Dashboard>, "panels"> & {
  readonly panels: readonly (
    | PanelOf<"stat", StatOptions, never>
    | PanelOf<"table", TableOptions, TableField>
    | PanelOf<"timeseries", TimeSeriesOptions, TimeSeriesField>
  )[];
};
