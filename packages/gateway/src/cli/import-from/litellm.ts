import type { FoundPool, Left, Reader } from "./foreign.ts";
import { type Fields, fileIn, isFields, notThat, numberOf, objectsOf, parseYaml, readText, textOf } from "./parts.ts";

/** What stands before the slash of a model. @see https://docs.litellm.ai/docs/providers */
const presets: Readonly<Record<string, string>> = {
  openai: "openai",
  text_completion_openai: "openai",
  anthropic: "anthropic",
  gemini: "gemini",
  azure: "azure",
  openrouter: "openrouter",
  deepseek: "deepseek",
  mistral: "mistral",
  groq: "groq",
  xai: "xai",
  together_ai: "together",
  fireworks_ai: "fireworks",
  moonshot: "moonshot",
  dashscope: "dashscope",
  cohere: "cohere",
  cohere_chat: "cohere",
  perplexity: "perplexity",
  nvidia_nim: "nvidia",
  cerebras: "cerebras",
  ollama: "ollama",
  ollama_chat: "ollama",
  lm_studio: "lmstudio",
  hosted_vllm: "vllm",
};

/** LiteLLM's `config.yaml`: `model_list`. @see https://docs.litellm.ai/docs/proxy/configs */
export const readLiteLlm: Reader = async ({ path, environment }) => {
  const file = fileIn(path, ["config.yaml", "litellm_config.yaml", "litellm-config.yaml"]);
  const config = await parseYaml(readText(file), file);
  if (!isFields(config) || !Array.isArray(config["model_list"]))
    throw notThat(file, "LiteLLM", "it has no `model_list`");
  const left: Left[] = [];
  const pools = objectsOf(config["model_list"]).flatMap((model) => {
    const pool = poolOf(model, environment, left);
    return pool === undefined ? [] : [pool];
  });
  if (pools.length > 0) {
    const why = "clients name the provider's own models here";
    left.push({ what: "the names of models (`model_name`) and their prices", why });
  }
  for (const section of ["router_settings", "litellm_settings", "general_settings", "credential_list"] as const) {
    if (config[section] !== undefined && config[section] !== null) left.push({ what: section, why: rest[section] });
  }
  return { pools, left };
};

const rest = {
  router_settings: "how keys take turns and rest is a matter of the pool here",
  litellm_settings: "it is about what LiteLLM does with requests, which go on as they are here",
  general_settings: "it is about LiteLLM itself; for its master key and virtual keys make gateway tokens",
  credential_list: "name those keys with `keywheel key add`",
} as const;

function poolOf(entry: Fields, environment: Fields, left: Left[]): FoundPool | undefined {
  const name = textOf(entry["model_name"]);
  const what = `model "${name}"`;
  const give = (why: string): undefined => {
    left.push({ what, why });
    return undefined;
  };
  const params = isFields(entry["litellm_params"]) ? entry["litellm_params"] : {};
  const model = textOf(params["model"]);
  const prefix = textOf(params["custom_llm_provider"]) || (model.includes("/") ? (model.split("/")[0] ?? "") : "");
  const address = addressOf(textOf(params["api_base"]), environment);
  if (address === undefined) return give("its `api_base` is a variable that is not set here");
  if (prefix !== "" && !Object.hasOwn(presets, prefix))
    return give(`keys of \`${prefix}/\` cannot be sent on as they are`);
  const preset = prefix === "" ? presetOfModel(model) : presets[prefix];
  if (preset === undefined && address === "")
    return give(`whose model \`${model}\` is cannot be told: name it as \`openai/…\``);
  if (preset === "azure" && address === "") return give("it has no `api_base`");
  const key = textOf(params["api_key"]);
  if (key === "")
    return give("it names no `api_key`: LiteLLM takes a variable of the provider's. Add it with `keywheel key add`");
  return {
    // Elsewhere than at the vendor's it is called by its host.
    name: address === "" ? (preset ?? name) : "",
    baseUrl: address === "" ? undefined : address,
    preset: address === "" ? preset : undefined,
    kind: preset === "azure" ? "azure-openai" : preset === "anthropic" ? "anthropic" : undefined,
    enabled: true,
    keys: [{ apiKey: referenceOf(key), label: name, weight: numberOf(params["weight"]) ?? 1, enabled: true }],
  };
}

/** @returns an empty text for none, undefined for a variable that is not set */
function addressOf(text: string, environment: Fields): string | undefined {
  if (!text.startsWith(environ)) return text;
  return textOf(environment[text.slice(environ.length)]) || undefined;
}

const environ = "os.environ/";

function referenceOf(key: string): string {
  return key.startsWith(environ) ? `$${key.slice(environ.length)}` : key;
}

/** As LiteLLM tells them without a prefix. */
function presetOfModel(model: string): string | undefined {
  if (/^(gpt-|o\d|chatgpt-|text-embedding-|dall-e|whisper|tts-)/.test(model)) return "openai";
  return model.startsWith("claude-") ? "anthropic" : undefined;
}
