import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Deployment } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, Namespace, Service, ServiceAccount } from "kubernetes-models/v1";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { startSettings } from "../../packages/gateway/src/cli/start-options.ts";
import { root } from "../../scripts/lib/root.mjs";
import { optionsFrom } from "./gateway-options.ts";

const folder = join(root, "deploy", "kubernetes");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const image = readFileSync(join(root, "deploy", "Containerfile"), "utf8");

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Validated {
  validate(): void;
}

/** What there may be here: a class of each, and where its types come from. */
const kinds: Readonly<Record<string, { readonly from: string; readonly make: (manifest: never) => Validated }>> = {
  Namespace: { from: "v1", make: (manifest) => new Namespace(manifest) },
  ServiceAccount: { from: "v1", make: (manifest) => new ServiceAccount(manifest) },
  ConfigMap: { from: "v1", make: (manifest) => new ConfigMap(manifest) },
  Service: { from: "v1", make: (manifest) => new Service(manifest) },
  Deployment: { from: "apps/v1", make: (manifest) => new Deployment(manifest) },
  PodDisruptionBudget: { from: "policy/v1", make: (manifest) => new PodDisruptionBudget(manifest) },
  NetworkPolicy: { from: "networking.k8s.io/v1", make: (manifest) => new NetworkPolicy(manifest) },
  HorizontalPodAutoscaler: { from: "autoscaling/v2", make: (manifest) => new HorizontalPodAutoscaler(manifest) },
};

const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
const kustomization = parse(read("kustomization.yaml")) as {
  readonly resources: readonly string[];
  readonly namespace: string;
  readonly images: readonly { readonly name: string }[];
};
const manifests = files
  .filter((name) => name !== "kustomization.yaml")
  .flatMap((name) => parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest));

/** The manifest of a kind, by its class. */
function the<T>({ kind }: { readonly kind: string; new (data: never): T }, name = "keywheel"): T {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found as T;
}

const deployment = the(Deployment);
const podSpec = deployment.spec?.template.spec;
const container = podSpec?.containers[0];
if (podSpec === undefined || container === undefined) throw new Error("a deployment without a container");
const configuration = the(ConfigMap).data ?? {};

it.each(manifests.map((manifest) => [manifest.kind, manifest.metadata.name, manifest] as const))(
  "%s %s is what Kubernetes's own schema asks for",
  (kind, _, manifest) => {
    const known = kinds[kind];

    expect(known).toBeDefined();
    expect(() => known?.make(manifest as never).validate()).not.toThrow();
  },
);

it("no manifest has a field that Kubernetes does not know", async () => {
  // The schemas let unknown fields through, as the server does; the compiler does not.
  const scratch = mkdtempSync(join(root, "node_modules", ".keywheel-manifests-"));
  try {
    const lines = manifests.flatMap((manifest, number) => {
      const type = `import("kubernetes-models/${kinds[manifest.kind]?.from}").I${manifest.kind}`;
      return [`export const manifest${number}: ${type} = ${JSON.stringify(manifest, undefined, 1)};`];
    });
    const wrong = `export const wrong: import("kubernetes-models/v1").IService = { spec: { portz: [] } };`;
    writeFileSync(join(scratch, "manifests.ts"), lines.join("\n"));
    writeFileSync(join(scratch, "wrong.ts"), wrong);

    expect(await compilerOn(join(scratch, "manifests.ts"))).toBe("");
    expect(await compilerOn(join(scratch, "wrong.ts"))).toContain("portz");
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}, 120_000);

async function compilerOn(file: string): Promise<string> {
  const compiler = join(root, "node_modules", ".bin", "tsc");
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--ignoreConfig", "--module", "nodenext", "--types", ""];
  try {
    return (await promisify(execFile)(compiler, [...flags, file], { cwd: root })).stdout;
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

it("kustomize is given every manifest but the optional one, and the image that the deployment names", () => {
  const all = files.filter((name) => !["kustomization.yaml", "autoscaler.yaml"].includes(name));

  expect([...kustomization.resources].sort()).toEqual(all.sort());
  expect(kustomization.images.map(({ name }) => name)).toEqual([container.image]);
  expect(kustomization.namespace).toBe(the(Namespace).metadata?.name);
  // Nothing is meant for a namespace of its own.
  expect(manifests.filter(({ metadata }) => metadata.namespace !== undefined)).toEqual([]);
});

describe("the gateway in its pod", () => {
  const secrets: Readonly<Record<string, string>> = {
    "database-url": "postgres://keywheel:invented@db.example.com/keywheel?sslmode=verify-full",
    "redis-url": "rediss://:invented@valkey.example.com:6379/0",
    "master-key": Buffer.alloc(32, 1).toString("base64"),
    "admin-token": "0123456789abcdef0123456789abcdef",
  };
  const fromSecret = (container.env ?? []).flatMap(({ name, valueFrom }) =>
    valueFrom?.secretKeyRef === undefined ? [] : [{ name, ...valueFrom.secretKeyRef }],
  );

  it("is started with settings that the program takes", () => {
    const given = (container.env ?? []).map(({ name, value, valueFrom }) => [
      name,
      value ?? secrets[valueFrom?.secretKeyRef?.key ?? ""] ?? "",
    ]);
    const options = optionsFrom({ ...configuration, ...Object.fromEntries(given) } as Record<string, string>, image);

    expect(options.requireToken).toBe(true);
    expect(options.allowHost).toContain("keywheel.keywheel.svc.cluster.local");
    expect(options.port).toBe(container.ports?.[0]?.containerPort);
    expect(options.dataDir.startsWith(`${container.volumeMounts?.[0]?.mountPath}/`)).toBe(true);
    expect(container.envFrom).toEqual([{ configMapRef: { name: the(ConfigMap).metadata?.name } }]);
  });

  it("has its secrets by reference, from the one that README.md makes", () => {
    const made = [...read("README.md").matchAll(/--from-literal=([\w-]+)=/g)].map(([, key]) => key);

    expect(new Set(fromSecret.map(({ key }) => key))).toEqual(new Set(made));
    expect(new Set(fromSecret.map(({ key }) => key))).toEqual(new Set(Object.keys(secrets)));
    expect(read("README.md")).toContain("create secret generic keywheel");
    expect(manifests.some(({ kind }) => kind === "Secret")).toBe(false);
  });

  it("is asked where it answers, by ports that it has", () => {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    const probes = [startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet);

    expect(probes).toEqual(Array.from({ length: 3 }, () => ({ path: "/healthz", port: container.ports?.[0]?.name })));
    // A start waits for its database for a minute.
    expect((startupProbe?.periodSeconds ?? 0) * (startupProbe?.failureThreshold ?? 0)).toBeGreaterThan(60);
    for (const name of ["keywheel", "keywheel-pages"]) {
      expect(the(Service, name).spec?.ports).toEqual([
        { name: "http", port: startSettings.port.fallback, targetPort: container.ports?.[0]?.name },
      ]);
    }
  });

  it("is given the time to end", () => {
    const sleeps = Number(container.lifecycle?.preStop?.exec?.command?.[1]);
    const grace = Number(configuration["KEYWHEEL_GRACE_SECONDS"]);

    expect(container.lifecycle?.preStop?.exec?.command?.[0]).toBe("sleep");
    expect(podSpec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(sleeps + grace + 15);
  });

  it("runs as the image's user, with no right that the restricted standard denies", () => {
    expect(podSpec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(image).toMatch(/^USER node$/m);
    expect(podSpec.automountServiceAccountToken).toBe(false);
    expect(podSpec.serviceAccountName).toBe(the(ServiceAccount).metadata?.name);
  });

  it("is what services, budget, policy and autoscaler mean", () => {
    const labels = deployment.spec?.template.metadata?.labels;

    expect([
      deployment.spec?.selector.matchLabels,
      the(Service).spec?.selector,
      the(Service, "keywheel-pages").spec?.selector,
      the(PodDisruptionBudget).spec?.selector?.matchLabels,
      the(NetworkPolicy).spec?.podSelector?.matchLabels,
      ...(podSpec.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ]).toEqual(Array.from({ length: 7 }, () => labels));
    expect(the(HorizontalPodAutoscaler).spec?.scaleTargetRef).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: deployment.metadata?.name,
    });
  });
});
