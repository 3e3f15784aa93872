import { dirname, resolve } from "node:path";
import type { FoundPool, Left, Reader } from "./foreign.ts";
import { type Fields, fileIn, isFields, notThat, numberOf, objectsOf, parseYaml, readText, textOf } from "./parts.ts";

/** A vendor, as LiteLLM names it before the slash of a model. */
interface Vendor {
  readonly preset: string;
  /** The variable that LiteLLM takes the key from where a model names none; a server of one's own needs none. */
  readonly variable?: string;
  /** Where it is without an `api_base`; default: the preset's. */
  readonly baseUrl?: string;
}

/** @see https://docs.litellm.ai/docs/providers */
const vendors: Readonly<Record<string, Vendor>> = {
  openai: { preset: "openai", variable: "OPENAI_API_KEY" },
  text_completion_openai: { preset: "openai", variable: "OPENAI_API_KEY" },
  anthropic: { preset: "anthropic", variable: "ANTHROPIC_API_KEY" },
  gemini: { preset: "gemini", variable: "GEMINI_API_KEY" },
  azure: { preset: "azure", variable: "AZURE_API_KEY" },
  openrouter: { preset: "openrouter", variable: "OPENROUTER_API_KEY" },
  deepseek: { preset: "deepseek", variable: "DEEPSEEK_API_KEY" },
  mistral: { preset: "mistral", variable: "MISTRAL_API_KEY" },
  groq: { preset: "groq", variable: "GROQ_API_KEY" },
  xai: { preset: "xai", variable: "XAI_API_KEY" },
  together_ai: { preset: "together", variable: "TOGETHERAI_API_KEY" },
  fireworks_ai: { preset: "fireworks", variable: "FIREWORKS_API_KEY" },
  moonshot: { preset: "moonshot", variable: "MOONSHOT_API_KEY" },
  dashscope: {
    preset: "dashscope",
    variable: "DASHSCOPE_API_KEY",
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  },
  cohere: { preset: "cohere", variable: "COHERE_API_KEY" },
  cohere_chat: { preset: "cohere", variable: "COHERE_API_KEY" },
  perplexity: { preset: "perplexity", variable: "PERPLEXITYAI_API_KEY" },
  nvidia_nim: { preset: "nvidia", variable: "NVIDIA_NIM_API_KEY" },
  cerebras: { preset: "cerebras", variable: "CEREBRAS_API_KEY" },
  ollama: { preset: "ollama" },
  ollama_chat: { preset: "ollama" },
  lm_studio: { preset: "lmstudio" },
  hosted_vllm: { preset: "vllm" },
};

/**
 * LiteLLM's `config.yaml`: `model_list`, with what its `include`, `credential_list` and `environment_variables` say of it.
 *
 * @see https://docs.litellm.ai/docs/proxy/configs
 */
export const readLiteLlm: Reader = async ({ path, environment }) => {
  const file = fileIn(path, ["config.yaml", "litellm_config.yaml", "litellm-config.yaml"]);
  const config = await withIncluded(file);
  if (!Array.isArray(config["model_list"])) throw notThat(file, "LiteLLM", "it has no `model_list`");
  const left: Left[] = [];
  const ground: Ground = {
    environment,
    // Of the config itself, LiteLLM makes variables of its own.
    variables: isFields(config["environment_variables"]) ? config["environment_variables"] : {},
    credentials: new Map(
      objectsOf(config["credential_list"]).map(({ credential_name: name, credential_values: values }) => [
        textOf(name),
        isFields(values) ? values : {},
      ]),
    ),
    left,
  };
  const pools = objectsOf(config["model_list"]).flatMap((model) => {
    const pool = poolOf(model, ground);
    return pool === undefined ? [] : [pool];
  });
  if (pools.length > 0) {
    const why = "clients name the provider's own models here";
    left.push({ what: "the names of models (`model_name`) and their prices", why });
  }
  for (const section of ["router_settings", "litellm_settings", "general_settings"] as const) {
    if (config[section] !== undefined && config[section] !== null) left.push({ what: section, why: rest[section] });
  }
  return { pools, left };
};

interface Ground {
  readonly environment: Fields;
  readonly variables: Fields;
  readonly credentials: ReadonlyMap<string, Fields>;
  readonly left: Left[];
}

const rest = {
  router_settings: "how keys take turns and rest is a matter of the pool here",
  litellm_settings: "it is about what LiteLLM does with requests, which go on as they are here",
  general_settings: "it is about LiteLLM itself; for its master key and virtual keys make gateway tokens",
} as const;

/** With the files that it includes: their lists are put behind its own, all else of theirs takes the place of its own. */
async function withIncluded(file: string): Promise<Fields> {
  const config = await parseYaml(readText(file), file);
  if (!isFields(config)) throw notThat(file, "LiteLLM", "it has no `model_list`");
  let whole: Record<string, unknown> = { ...config };
  for (const name of listIn(config["include"]) ?? []) {
    const included = resolve(dirname(file), textOf(name));
    const more = await parseYaml(readText(included), included);
    for (const [section, value] of Object.entries(isFields(more) ? more : {})) {
      const [held, added] = [listIn(whole[section]), listIn(value)];
      whole = { ...whole, [section]: held === undefined || added === undefined ? value : [...held, ...added] };
    }
  }
  return whole;
}

function listIn(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? (value as readonly unknown[]) : undefined;
}

function poolOf(entry: Fields, ground: Ground): FoundPool | undefined {
  const name = textOf(entry["model_name"]);
  const give = (why: string): undefined => {
    ground.left.push({ what: `model "${name}"`, why });
    return undefined;
  };
  const params = paramsOf(entry, ground);
  if (params === undefined) return give("its `litellm_credential_name` is in no `credential_list`");
  const model = textOf(params["model"]);
  const prefix = textOf(params["custom_llm_provider"]) || (model.includes("/") ? (model.split("/")[0] ?? "") : "");
  const address = addressOf(textOf(params["api_base"]) || textOf(params["base_url"]), ground);
  if (address === undefined) return give("its `api_base` is a variable that is not set here");
  if (prefix !== "" && !Object.hasOwn(vendors, prefix))
    return give(`keys of \`${prefix}/\` cannot be sent on as they are`);
  const vendor = prefix === "" ? vendorOfModel(model) : vendors[prefix];
  if (vendor === undefined && address === "")
    return give(`whose model \`${model}\` is cannot be told: name it as \`openai/…\``);
  const preset = vendor?.preset;
  if (preset === "azure" && address === "") return give("it has no `api_base`");
  const key = textOf(params["api_key"]) || (vendor?.variable === undefined ? "" : `${environ}${vendor.variable}`);
  if (key === "") return give("it names no `api_key`");
  const baseUrl = address || vendor?.baseUrl;
  return {
    // Elsewhere than at the vendor's it is called by its host.
    name: baseUrl === undefined ? (preset ?? name) : "",
    baseUrl,
    preset: baseUrl === undefined ? preset : undefined,
    kind: preset === "azure" ? "azure-openai" : preset === "anthropic" ? "anthropic" : undefined,
    enabled: true,
    keys: [
      {
        apiKey: referenceOf(key, ground),
        label: name,
        weight: numberOf(params["weight"]) ?? 1,
        enabled: true,
        group: textOf(params["organization"]),
      },
    ],
  };
}

/** What a model says itself goes before what its credential says. */
function paramsOf(entry: Fields, { credentials }: Ground): Fields | undefined {
  const own = isFields(entry["litellm_params"]) ? entry["litellm_params"] : {};
  const credential = textOf(own["litellm_credential_name"]);
  if (credential === "") return own;
  const values = credentials.get(credential);
  return values === undefined ? undefined : { ...values, ...own };
}

/** @returns an empty text for none, undefined for a variable that is not set */
function addressOf(text: string, { environment, variables }: Ground): string | undefined {
  if (!text.startsWith(environ)) return text;
  const name = text.slice(environ.length);
  return textOf(variables[name]) || textOf(environment[name]) || undefined;
}

const environ = "os.environ/";

function referenceOf(key: string, { variables }: Ground): string {
  if (!key.startsWith(environ)) return key;
  const name = key.slice(environ.length);
  const value = textOf(variables[name]);
  return value === "" || value.startsWith(environ) ? `$${name}` : value;
}

/** As LiteLLM tells them without a prefix. */
function vendorOfModel(model: string): Vendor | undefined {
  if (/^(gpt-|o\d|chatgpt-|text-embedding-|dall-e|whisper|tts-)/.test(model)) return vendors["openai"];
  return model.startsWith("claude-") ? vendors["anthropic"] : undefined;
}
