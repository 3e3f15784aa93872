// Made from the gateway's own schemas by `npm run ui:types`. A test tells when it is out of date.

export type Health = {
  status: "ok" | "ready" | "not_ready";
  detail?: string;
};

export type Problem = {
  type: string;
  title: string;
  status: number;
  /** What happened, in a sentence. */
  detail: string;
  /** What programs match on. */
  code:
    | "pool_exhausted"
    | "no_usable_key"
    | "unauthorized"
    | "token_limited"
    | "forbidden"
    | "unknown_provider"
    | "upstream_unreachable"
    | "upstream_timeout"
    | "body_too_large"
    | "invalid_request"
    | "misdirected"
    | "not_found"
    | "conflict"
    | "validation_failed"
    | "too_many_attempts"
    | "unsupported_media_type"
    | "method_not_allowed"
    | "store_unavailable"
    | "overloaded"
    | "internal";
  /** What to do about it. */
  hint: string;
  errors?: {
    path: string;
    message: string;
    code?: FieldFault;
    /** Numbers that belong to the code: `min`, `max`, `length`, `line`, or `at`, a position from 1. */
    params?: {
      [name: string]: number;
    };
  }[];
};

/** What is wrong with a field, for programs that say it in words of their own. */
export type FieldFault =
  | "missing"
  | "empty"
  | "wrong_type"
  | "unknown_field"
  | "read_only"
  | "not_a_choice"
  | "no_integer"
  | "too_small"
  | "too_large"
  | "too_long"
  | "control_character"
  | "no_instant"
  | "in_past"
  | "refused"
  | "key_too_long"
  | "key_masked"
  | "key_line_break"
  | "key_white_space"
  | "key_control_character"
  | "key_character"
  | "key_comma"
  | "key_quotes"
  | "variable_no_name"
  | "variable_braces"
  | "variable_many"
  | "variable_name"
  | "file_path"
  | "keychain_name"
  | "weight_range"
  | "label_too_long"
  | "label_control_character"
  | "repeated_line"
  | "too_many_keys"
  | "key_held"
  | "slug_taken"
  | "host_change"
  | "repeated"
  | "no_such_key"
  | "no_such_provider"
  | "no_selection"
  | "too_many_sums"
  | "managed_by_file"
  | "white_space"
  | "backslash"
  | "placeholder"
  | "scheme"
  | "no_url"
  | "credentials"
  | "query"
  | "fragment"
  | "port"
  | "endpoint"
  | "metadata_host"
  | "reserved"
  | "shape"
  | "cap_below_base";

export type SignIn = {
  token: string;
};

export type NewAdminToken = {
  /** Shown this once. */
  token: string;
};

export type SignInLink = {
  /** Signs a browser in, once. */
  path: string;
  /** The same, complete, for each address of the gateway. */
  urls: string[];
  expires_at: string;
};

export type Status = {
  version: string;
  started_at: string;
  uptime_ms: number;
  /** Where this gateway listens. */
  urls: string[];
  /** Whether clients must show a gateway token. */
  require_token: boolean;
  /** False if stored keys were encrypted with another master key. */
  master_key_ok: boolean;
  store: {
    ok: boolean;
    /** Why the database cannot be written, or what is damaged. */
    trouble: string | null;
    /** What to do about it. */
    hint: string | null;
    /** Whether stored data cannot be read: only a backup brings it back. */
    damaged: boolean;
  };
  /** Where turns, cooldowns and sessions are kept. */
  shared_state: {
    /** `memory`: of this gateway alone. */
    kind: "memory" | "redis";
    /** False while Redis is away and this gateway decides alone. */
    ok: boolean;
    trouble: string | null;
  };
  /** The file of configuration; null where there is none. */
  config: {
    file: string;
    /** False while the file cannot be taken and what was before goes on. */
    ok: boolean;
    problem: string | null;
  } | null;
  /** What the machine has to carry. */
  load: {
    /** Requests of clients under way, streams included. */
    requests_running: number;
    /** How many there may be; more are refused with 503. */
    requests_limit: number;
    /** How late the process does what is due. */
    event_loop_delay_ms: number;
    /** In use of what the process may have, 0 to 1. */
    memory_share: number;
    /** What part of new requests is refused, 0 to 1. */
    refused_share: number;
    /** Why; null while none is refused. */
    reason: "open_requests" | "event_loop" | "memory" | null;
  };
  counts: {
    providers: number;
    keys: KeyCounts;
    tokens: number;
  };
  providers: {
    id: string;
    slug: string;
    name: string;
    enabled: boolean;
    base_url: string;
    keys: KeyCounts;
    /** Whether a request would find a key now. */
    can_serve: boolean;
    /** When the first cooling key is back. */
    next_available_at: string | null;
  }[];
};

export type KeyCounts = {
  total: number;
  available: number;
  cooling_down: number;
  disabled: number;
  unresolved: number;
};

export type ProviderPreset = {
  slug:
    | "openai"
    | "anthropic"
    | "gemini"
    | "azure"
    | "openrouter"
    | "deepseek"
    | "mistral"
    | "groq"
    | "xai"
    | "together"
    | "fireworks"
    | "moonshot"
    | "zhipu"
    | "dashscope"
    | "siliconflow"
    | "cohere"
    | "perplexity"
    | "nvidia"
    | "cerebras"
    | "ollama"
    | "lmstudio"
    | "vllm";
  name: string;
  kind: "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";
  /** Azure's holds the placeholder `{resource}`. */
  base_url: string;
};

export type Model = {
  id: string;
};

export type Provider = {
  id: string;
  /** The first segment of the paths that clients use. */
  slug: string;
  name: string;
  /** The kind of API that is spoken. */
  kind: "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";
  /** Whose errors, hints and limits are understood. */
  preset:
    | "openai"
    | "anthropic"
    | "gemini"
    | "azure"
    | "openrouter"
    | "deepseek"
    | "mistral"
    | "groq"
    | "xai"
    | "together"
    | "fireworks"
    | "moonshot"
    | "zhipu"
    | "dashscope"
    | "siliconflow"
    | "cohere"
    | "perplexity"
    | "nvidia"
    | "cerebras"
    | "ollama"
    | "lmstudio"
    | "vllm"
    | null;
  base_url: string;
  /** The provider-level key, masked, or `$NAME`; it serves only while the pool has no keys at all. */
  api_key: string | null;
  enabled: boolean;
  settings: Settings;
  /** `file`: the file of configuration has made it, and it is changed there; null: changed here. */
  managed_by: "file" | null;
  created_at: string;
  updated_at: string;
};

export type Settings = {
  cooldown: {
    /** The rest after the first failure, ms; each further one doubles it. */
    base_ms: number;
    /** The longest rest, ms; at least `base_ms`. */
    cap_ms: number;
    /** `model`: a limit that is proven to be one model's rests the key for that model alone. */
    scope: "key" | "model";
  };
  affinity: {
    /** Whether the requests of a session stay with one key. */
    enabled: boolean;
    /** A session unused for so long, ms, is forgotten. */
    idle_ttl_ms: number;
  };
  retry: {
    /** How often a request is repeated after an error that is the provider's own (500, 502, 503 …). */
    provider_errors: number;
  };
  timeouts: {
    /** Until a connection to the provider stands, ms. */
    connect_ms: number;
    /** From the end of the request to the first byte of the answer, ms. */
    headers_ms: number;
    /** Between two pieces of a response, ms. */
    idle_ms: number;
  };
  /** The largest request body that is taken, bytes. */
  max_body_bytes: number;
};

export type ProviderCreate = {
  /** Made from the name when left out. */
  slug?: string;
  /** The preset's when left out. */
  name?: string;
  /** Follows from the preset or the base URL when left out. */
  kind?: "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";
  /** Follows from the base URL's host when left out. */
  preset?:
    | "openai"
    | "anthropic"
    | "gemini"
    | "azure"
    | "openrouter"
    | "deepseek"
    | "mistral"
    | "groq"
    | "xai"
    | "together"
    | "fireworks"
    | "moonshot"
    | "zhipu"
    | "dashscope"
    | "siliconflow"
    | "cohere"
    | "perplexity"
    | "nvidia"
    | "cerebras"
    | "ollama"
    | "lmstudio"
    | "vllm"
    | null;
  /** The preset's when left out. */
  base_url?: string;
  /** A key, or `$NAME` for an environment variable. What comes back is masked. */
  api_key?: string | null;
  enabled?: boolean;
  settings?: SettingsPatch;
};

export type SettingsPatch = {
  /** How long a key rests that is limited (429, 529). */
  cooldown?: {
    /** The rest after the first failure, ms; each further one doubles it. */
    base_ms?: number | null;
    /** The longest rest, ms; at least `base_ms`. */
    cap_ms?: number | null;
    /** `model`: a limit that is proven to be one model's rests the key for that model alone. */
    scope?: "key" | "model" | null;
  } | null;
  /** Whether and how long a session stays with its key. */
  affinity?: {
    /** Whether the requests of a session stay with one key. */
    enabled?: boolean | null;
    /** A session unused for so long, ms, is forgotten. */
    idle_ttl_ms?: number | null;
  } | null;
  /** What is tried again beyond failures of a key. */
  retry?: {
    /** How often a request is repeated after an error that is the provider's own (500, 502, 503 …). */
    provider_errors?: number | null;
  } | null;
  /** How long the provider is waited for. */
  timeouts?: {
    /** Until a connection to the provider stands, ms. */
    connect_ms?: number | null;
    /** From the end of the request to the first byte of the answer, ms. */
    headers_ms?: number | null;
    /** Between two pieces of a response, ms. */
    idle_ms?: number | null;
  } | null;
  /** The largest request body that is taken, bytes. */
  max_body_bytes?: number | null;
} | null;

export type ProviderPatch = {
  slug?: string;
  name?: string;
  kind?: "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";
  preset?:
    | "openai"
    | "anthropic"
    | "gemini"
    | "azure"
    | "openrouter"
    | "deepseek"
    | "mistral"
    | "groq"
    | "xai"
    | "together"
    | "fireworks"
    | "moonshot"
    | "zhipu"
    | "dashscope"
    | "siliconflow"
    | "cohere"
    | "perplexity"
    | "nvidia"
    | "cerebras"
    | "ollama"
    | "lmstudio"
    | "vllm"
    | null;
  base_url?: string;
  /** null removes it; left out, it stays. */
  api_key?: string | null;
  enabled?: boolean;
  /** Merged; null brings all defaults back. */
  settings?: {
    /** How long a key rests that is limited (429, 529). */
    cooldown?: {
      /** The rest after the first failure, ms; each further one doubles it. */
      base_ms?: number | null;
      /** The longest rest, ms; at least `base_ms`. */
      cap_ms?: number | null;
      /** `model`: a limit that is proven to be one model's rests the key for that model alone. */
      scope?: "key" | "model" | null;
    } | null;
    /** Whether and how long a session stays with its key. */
    affinity?: {
      /** Whether the requests of a session stay with one key. */
      enabled?: boolean | null;
      /** A session unused for so long, ms, is forgotten. */
      idle_ttl_ms?: number | null;
    } | null;
    /** What is tried again beyond failures of a key. */
    retry?: {
      /** How often a request is repeated after an error that is the provider's own (500, 502, 503 …). */
      provider_errors?: number | null;
    } | null;
    /** How long the provider is waited for. */
    timeouts?: {
      /** Until a connection to the provider stands, ms. */
      connect_ms?: number | null;
      /** From the end of the request to the first byte of the answer, ms. */
      headers_ms?: number | null;
      /** Between two pieces of a response, ms. */
      idle_ms?: number | null;
    } | null;
    /** The largest request body that is taken, bytes. */
    max_body_bytes?: number | null;
  } | null;
  /** Must be true to change scheme, host or port of `base_url` while keys are stored: they go there. */
  confirm_host_change?: boolean;
};

export type Key = {
  id: string;
  provider_id: string;
  /** Masked (`sk-…9f2c`); an environment reference as it stands. */
  api_key: string;
  label: string;
  weight: number;
  enabled: boolean;
  /** The wheel turns in this order, ties by creation. */
  order: number;
  /** Keys that share their limits, such as those of one project, by a name of your own; empty without one. */
  group: string;
  /** Whose key it seems to be, as the provider's answers say (`openai-organization`, `anthropic-organization-id`), of Azure the resource; null until one has said it. Keys of one organization share its limits, as a rule. */
  organization: string | null;
  /** The project of that organization, where answers say it (`openai-project`). It may have limits of its own below those of the organization. */
  project: string | null;
  status: "available" | "cooling_down" | "disabled" | "unresolved";
  status_reason: StatusReason;
  cooldown_until: string | null;
  consecutive_failures: number;
  bound_sessions: number;
  stats: KeyStats;
  /** `file`: the file of configuration has made it, and it is changed there; null: changed here. */
  managed_by: "file" | null;
  created_at: string;
  updated_at: string;
};

/** Why it is not available, or the last failure until a success or a reset. */
export type StatusReason = {
  code:
    | "rate_limited"
    | "overloaded"
    | "quota_exhausted"
    | "authentication_failed"
    | "model_unavailable"
    | "disabled_by_operator"
    | "unresolved"
    | "undecryptable";
  http_status: number | null;
  /** What the provider said, secrets taken out. */
  message: string | null;
  at: string;
  /** Where the length of a cooldown comes from: our ladder, the provider's word, a spent quota, or the one length of a key that may not use a model; `shared`: the rest of another key of its group. */
  wait: "ladder" | "stated" | "quota" | "fixed" | "shared" | null;
  /** The key whose limit it is, where it rests with another one of its group. */
  shared_from: {
    key_id: string;
    label: string;
    api_key: string | null;
  } | null;
} | null;

export type KeyStats = {
  /** Attempts with this key, those before a restart included. */
  requests: number;
  successes: number;
  /** Attempts that the provider answered with an error, or not at all. */
  failures: number;
  last_used_at: string | null;
};

export type KeyCreate = {
  /** A key, or `$NAME` for an environment variable. What comes back is masked. */
  api_key: string;
  label?: string;
  weight?: number;
  enabled?: boolean;
  order?: number;
  group?: string;
};

export type KeyImportResult = {
  added: Key[];
  skipped: {
    /** From 1. */
    line: number;
    /** Not a key; again in this text; held by the provider already. */
    code: "refused" | "repeated" | "held";
    reason: string;
    fault: FieldFault;
    /** Numbers that belong to the code: `min`, `max`, `length`, `line`, or `at`, a position from 1. */
    params?: {
      [name: string]: number;
    };
    masked: string;
  }[];
  /** In a dry run: what would be added. */
  understood?: {
    line: number;
    api_key: string;
    label: string;
    weight: number;
  }[];
};

export type KeyImport = {
  /** Keys one a line or separated by commas. A line of three fields whose third is a number or empty is `key,label,weight`; a line of two fields whose second cannot be a key (white space, non-ASCII, in double quotes, empty) is `key,label`; any other line with commas is a list of keys. Empty lines and lines that begin with `#` are passed over. */
  text: string;
  /** Of all the keys that are added. */
  group?: string;
  /** Answers what was understood, without ids, and adds nothing. */
  dry_run?: boolean;
};

export type KeyOrder = {
  /** Keys that are not named follow after these, in the order in which they stand. */
  ids: string[];
};

export type KeyBulkResult = {
  /** The keys that the action was applied to. */
  ids: string[];
  /** Of `test`: what came of each key, in the order of `ids`. */
  results?: KeyTestOfMany[];
};

export type KeyTestOfMany = KeyTestResult & {
  id: string;
};

export type KeyTestResult = {
  /** Whether the provider took the key. */
  ok: boolean;
  http_status: number | null;
  /** What was recognised: `ok`, `authentication_failed`, `upstream_unreachable` … */
  code: string;
  message: string | null;
  duration_ms: number;
};

export type KeyBulk = {
  action: "enable" | "disable" | "delete" | "reset" | "test";
  ids?: string[];
  where?: {
    status?: "available" | "cooling_down" | "disabled" | "unresolved";
    reason?:
      | "rate_limited"
      | "overloaded"
      | "quota_exhausted"
      | "authentication_failed"
      | "model_unavailable"
      | "disabled_by_operator"
      | "unresolved"
      | "undecryptable";
  };
};

export type KeyPatch = {
  /** A new value; left out, the stored one stays. A mask is refused. */
  api_key?: string;
  label?: string;
  weight?: number;
  /** true on a key that the provider's refusal disabled clears the refusal, its count and its cooldown. */
  enabled?: boolean;
  order?: number;
  /** Empty takes it out of its group. */
  group?: string;
};

export type Variable = {
  /** Whether a key `$NAME` would work now. */
  set: boolean;
  /** Why it would not; `unsendable`: there is a value that cannot be a key. */
  problem: "unset" | "empty" | "unsendable" | null;
};

export type Token = {
  id: string;
  name: string;
  /** How the token begins, to tell tokens apart. */
  prefix: string;
  /** Ids of the providers it is limited to; null for all. */
  providers: string[] | null;
  /** From when on it is refused; null for never. */
  expires_at: string | null;
  /** Requests in any 60 seconds; null for no limit. */
  max_requests_per_minute: number | null;
  /** Requests at a time, streams until their end; null for no limit. */
  max_concurrent: number | null;
  /** `file`: the file of configuration has made it, and it is changed there; null: changed here. */
  managed_by: "file" | null;
  created_at: string;
  last_used_at: string | null;
};

export type NewToken = Token & {
  /** Shown this once. */
  token: string;
};

export type TokenCreate = {
  name: string;
  providers?: string[] | null;
  /** From when on it is refused; null for never. */
  expires_at?: string | null;
  /** Requests in any 60 seconds; null for no limit. */
  max_requests_per_minute?: number | null;
  /** Requests at a time, streams until their end; null for no limit. */
  max_concurrent?: number | null;
};

export type TokenPatch = {
  name?: string;
  providers?: string[] | null;
  /** From when on it is refused; null for never. */
  expires_at?: string | null;
  /** Requests in any 60 seconds; null for no limit. */
  max_requests_per_minute?: number | null;
  /** Requests at a time, streams until their end; null for no limit. */
  max_concurrent?: number | null;
};

export type SessionList = {
  data: Session[];
  next_cursor: string | null;
};

export type Session = {
  /** What the client named in `x-keywheel-session`, or `ses_…`. */
  id: string;
  /** The header or body field that named it. */
  carrier: string;
  provider_id: string;
  /** Its slug; null when it is gone. */
  provider: string | null;
  key_id: string;
  /** The key's label now; null when it is gone. */
  label: string | null;
  /** The key, masked; null when it is gone. */
  api_key: string | null;
  bound_at: string;
  last_used_at: string;
  requests: number;
};

export type RequestList = {
  data: Request[];
  next_cursor: string | null;
};

export type Request = {
  id: string;
  started_at: string;
  ended_at: string;
  provider_id: string | null;
  /** The slug that the client used. */
  provider: string;
  method: string;
  /** Behind the slug, without query. */
  path: string;
  model: string | null;
  session_id: string | null;
  token_id: string | null;
  /** What the client got; 0 if it left before it got anything. */
  status: number;
  /** The code of an error of the gateway's own. */
  error: string | null;
  /** Whole; short of its end; with an error after content had gone out; or the client left. */
  ending: "completed" | "truncated" | "failed" | "gone";
  /** The key that the answer came from; `provider` for the provider-level key. */
  key_id: string | null;
  /** That key's label now. */
  label: string | null;
  /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
  api_key: string | null;
  /** The attempts in plain words. */
  decision: string;
  attempts: Attempt[];
  /** How the pool stood when no key was left; null when the request was served. */
  standing: {
    total: number;
    resting: number;
    disabled: number;
    unresolved: number;
    tried: number;
  } | null;
  first_byte_ms: number | null;
  duration_ms: number;
  request_bytes: number;
  response_bytes: number | null;
  usage: TokenCounts;
};

export type Attempt = {
  key_id: string;
  /** The key's label now; null when it is gone. */
  label: string | null;
  /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
  api_key: string | null;
  /** Why this key: the request's session is bound to it, it served what the request continues, it holds an object that the request names, or it had its turn on the wheel. */
  why: "session" | "continuation" | "pin" | "turn";
  /** Keys that could not serve, and why; at most eight. */
  passed_over: {
    key_id: string;
    label: string | null;
    /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
    api_key: string | null;
    because: string;
  }[];
  /** The key that the request belonged to before and had to leave, and why. */
  left: {
    key_id: string;
    label: string | null;
    /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
    api_key: string | null;
    because: string;
  } | null;
  started_at: string;
  duration_ms: number;
  /** null when the provider gave no answer. */
  http_status: number | null;
  /** What was recognised: `succeeded`, `rate_limited`, `key_refused` … */
  outcome: string;
  /** What the provider said, or what broke, without secrets; null where there is nothing to tell. */
  message: string | null;
};

/** null if the answer told none. */
export type TokenCounts = {
  /** Input that came from no cache and was written to none. */
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** With reasoning. */
  output_tokens: number;
  /** The part of the output that was reasoning. */
  reasoning_tokens: number;
} | null;

export type Usage = {
  from: string;
  to: string;
  by: ("minute" | "hour" | "day" | "provider" | "key" | "label" | "token" | "model")[];
  data: UsageRow[];
  total: TokenCounts & {
    requests: number;
    /** Requests that did not end in a whole answer of success. */
    errors: number;
    /** Attempts after which another key was asked, or none was left. */
    failovers: number;
  };
};

export type UsageRow = TokenCounts & {
  requests: number;
  /** Requests that did not end in a whole answer of success. */
  errors: number;
  /** Attempts after which another key was asked, or none was left. */
  failovers: number;
  /** Where the minute, hour or day begins. */
  at?: string;
  provider_id?: string;
  /** Its slug; null when it is gone. */
  provider?: string | null;
  /** null for requests that no key served; `provider` for the provider-level key. */
  key_id?: string | null;
  label?: string;
  /** With `key`: masked; null when it is gone. */
  api_key?: string | null;
  /** null without a gateway token. */
  token_id?: string | null;
  /** null without one, or when it is gone. */
  token_name?: string | null;
  /** null where none was named; `other` beyond the 1,000 models of an hour. */
  model?: string | null;
};

export type Affinity = {
  from: string;
  to: string;
  data: PoolAffinity[];
  total: CachedInput;
};

export type PoolAffinity = {
  provider_id: string;
  /** Its slug; null when it is gone. */
  provider: string | null;
  total: CachedInput;
  kept: CachedInput;
  new: CachedInput;
  left: CachedInput;
  untied: CachedInput;
  /** `kept` of those that had a key to keep, 0 to 1; null where none had. */
  kept_share: number | null;
  /** `left` of all requests, 0 to 1; null where there were none. */
  left_share: number | null;
  /** Most requests first. */
  sources: {
    /** What tied the request to its key: a named session, the conversation itself, a stored object. */
    source: "session" | "conversation" | "object" | "none";
    kept: number;
    new: number;
    left: number;
    requests: number;
    /** Input that came from no cache and was written to none. */
    input_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    /** What part of all input came from the cache, 0 to 1; null where no answer told its input. */
    cached_share: number | null;
  }[];
  /** Why requests left their key: `rate_limited`, `authentication_failed` … Most first. */
  reasons: {
    reason: string;
    requests: number;
    /** Input that came from no cache and was written to none. */
    input_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    /** What part of all input came from the cache, 0 to 1; null where no answer told its input. */
    cached_share: number | null;
  }[];
};

export type CachedInput = {
  requests: number;
  /** Input that came from no cache and was written to none. */
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** What part of all input came from the cache, 0 to 1; null where no answer told its input. */
  cached_share: number | null;
};

export type SessionAffinity = {
  id: string;
  total: CachedInput;
  kept: CachedInput;
  new: CachedInput;
  left: CachedInput;
  /** False if there are older requests than these sums are of: the newest 2,000 are looked at. */
  is_whole: boolean;
  /** The keys that served it, the last one first. */
  keys: {
    key_id: string;
    label: string | null;
    /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
    api_key: string | null;
    requests: number;
    /** Input that came from no cache and was written to none. */
    input_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    /** What part of all input came from the cache, 0 to 1; null where no answer told its input. */
    cached_share: number | null;
  }[];
  /** Its newest 100 requests, newest first. */
  steps: {
    request_id: string;
    ended_at: string;
    model: string | null;
    /** The key that served it; null if none did. */
    key_id: string | null;
    label: string | null;
    /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
    api_key: string | null;
    /** `kept` its key, `new`: the first request, or why it had to leave its key: `rate_limited` … */
    fate: string;
    /** The key that it had to leave. */
    left: {
      key_id: string;
      label: string | null;
      /** Masked (`sk-…9f2c`), or the environment reference; null when the key is gone. */
      api_key: string | null;
    } | null;
    /** null if the answer told no usage. */
    input_tokens: number | null;
    cache_read_tokens: number | null;
    cache_write_tokens: number | null;
  }[];
};

export type Notice = {
  id: string;
  /** `pool_exhausted`: a request found all keys cooling down. `no_usable_key`: none that could ever serve. `all_keys_refused`: every key was refused and none ever accepted at this base URL. `base_url_changed`: keys are disabled for refusals at the former one. `keys_limited_together`: all within a second, as by a limit that they share. `one_owner`: all keys are of one group or organization, and share its limits. `keys_unresolved`: an environment variable is missing. `edge_block`, `region_refused`, `not_an_api`: about the way to the provider, not about keys. `store_unavailable`, `store_damaged`, `shared_state_unavailable`, `master_key_wrong`, `overloaded`: the gateway's own. `config_file_broken`: the file of configuration has mistakes, and what was taken up before goes on. */
  code:
    | "pool_exhausted"
    | "no_usable_key"
    | "all_keys_refused"
    | "base_url_changed"
    | "keys_limited_together"
    | "one_owner"
    | "keys_unresolved"
    | "edge_block"
    | "region_refused"
    | "not_an_api"
    | "store_unavailable"
    | "store_damaged"
    | "shared_state_unavailable"
    | "master_key_wrong"
    | "overloaded"
    | "config_file_broken";
  /** null for what is about the gateway as a whole. */
  provider_id: string | null;
  /** What happened. */
  message: string;
  /** What to do about it. */
  hint: string;
  /** What `message` tells, for those who word it themselves. */
  facts: {
    /** Of the base URL. */
    host?: string;
    /** What the other side said. */
    said?: string;
    /** Of `config_file_broken`: where it is. */
    file?: string;
    /** The first variable that is missing. */
    variable?: string;
    /** How many keys it is about. */
    keys?: number;
    /** The group or organization of all keys. */
    owner?: string;
    resting?: number;
    /** How many keys there are. */
    total?: number;
    /** Of `overloaded`: what there is too much of. */
    reason?: "open_requests" | "event_loop" | "memory";
  };
  /** A call that offers itself as the remedy, such as enabling all refused keys again. */
  action: {
    method: "POST";
    path: string;
    body: {
      [name: string]: unknown;
    };
  } | null;
  /** When it happened first. */
  at: string;
  last_at: string;
  count: number;
  /** When it was over; null while it holds. */
  resolved_at: string | null;
};

export type Webhook = {
  id: string;
  name: string;
  /** http or https; no credentials, no fragment, no link-local or metadata address. Redirects are not followed. */
  url: string;
  /** What it is told of; null for everything, what is added later included. */
  events: ("key.disabled" | "key.recovered" | "pool.exhausted" | "pool.recovered")[] | null;
  enabled: boolean;
  /** `gone`: its receiver answered 410 and was switched off for it. */
  disabled_reason: "gone" | null;
  /** Until when a former secret signs beside the present one; null if none does. */
  former_secret_until: string | null;
  created_at: string;
  updated_at: string;
};

export type NewWebhook = Webhook & {
  /** By which the receiver checks `webhook-signature` (Standard Webhooks). Shown this once. */
  secret: string;
};

export type WebhookCreate = {
  name?: string;
  /** What it is told of; null for everything, what is added later included. */
  events?: ("key.disabled" | "key.recovered" | "pool.exhausted" | "pool.recovered")[] | null;
  enabled?: boolean;
  /** http or https; no credentials, no fragment, no link-local or metadata address. Redirects are not followed. */
  url: string;
};

export type WebhookPatch = {
  name?: string;
  /** What it is told of; null for everything, what is added later included. */
  events?: ("key.disabled" | "key.recovered" | "pool.exhausted" | "pool.recovered")[] | null;
  enabled?: boolean;
  /** http or https; no credentials, no fragment, no link-local or metadata address. Redirects are not followed. */
  url?: string;
};

export type WebhookRotation = {
  /** For so long what is sent is signed with the former secret as well. 0: no former secret signs any more, as after one was seen by others. Default: a day. */
  overlap_ms?: number;
};

export type WebhookTest = {
  delivered: boolean;
  http_status: number | null;
  /** What went wrong; empty if it was delivered. */
  message: string;
  duration_ms: number;
};

export type WebhookDelivery = {
  /** Sent as `webhook-id`; the same at every attempt. */
  id: string;
  type: string;
  state: "waiting" | "delivered" | "failed";
  attempts: number;
  created_at: string;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  /** What the receiver answered last; null if nothing. */
  last_status: number | null;
  last_error: string | null;
};

export type ExportDocument = {
  format: "keywheel-export";
  version: 1;
  exported_at: string;
  providers: ExportedProvider[];
  secrets: SealedValues;
};

export type ExportedProvider = {
  slug: string;
  name: string;
  kind: "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";
  preset:
    | "openai"
    | "anthropic"
    | "gemini"
    | "azure"
    | "openrouter"
    | "deepseek"
    | "mistral"
    | "groq"
    | "xai"
    | "together"
    | "fireworks"
    | "moonshot"
    | "zhipu"
    | "dashscope"
    | "siliconflow"
    | "cohere"
    | "perplexity"
    | "nvidia"
    | "cerebras"
    | "ollama"
    | "lmstudio"
    | "vllm"
    | null;
  base_url: string;
  enabled: boolean;
  settings: SettingsPatch;
  api_key: ExportedSecret;
  /** In wheel order. */
  keys: ExportedKey[];
};

/** `$NAME` as it stands. A value is `{masked}`, and with a passphrase `{masked, secret}`, its place among the sealed values. A document of one's own may hold the key itself. */
export type ExportedSecret =
  | string
  | {
      masked: string;
      secret?: number;
    }
  | null;

export type ExportedKey = {
  api_key: ExportedSecret;
  label: string;
  weight: number;
  enabled: boolean;
  order: number;
  /** Left out where it has none. */
  group?: string;
};

/** null without a passphrase. */
export type SealedValues = {
  kdf: {
    name: "scrypt";
    n: number;
    r: number;
    p: number;
    salt: string;
  };
  cipher: "aes-256-gcm";
  /** Tells a wrong passphrase from a damaged document. */
  check: string;
  nonce: string;
  /** The values as a JSON list, encrypted; the tag is at the end. The rest of the document is the additional data. */
  sealed: string;
} | null;

export type Export = {
  /** Encrypts the values of the keys; left out, they are masked. Only with the admin token. */
  passphrase?: string;
};

export type ImportReport = {
  /** False in a dry run. */
  applied: boolean;
  providers: {
    added: number;
    unchanged: number;
    conflicts: number;
    missing: number;
  };
  keys: {
    added: number;
    unchanged: number;
    conflicts: number;
    missing: number;
  };
  /** Everything but what is unchanged. */
  entries: {
    outcome: "added" | "conflict" | "missing";
    /** Its slug. */
    provider: string;
    /** null: the provider itself. Masked, or a reference. */
    key: {
      api_key: string;
      label: string;
    } | null;
    reason: string | null;
  }[];
};

export type Import = {
  document: ExportDocument;
  /** Left out, the encrypted values count as missing. */
  passphrase?: string;
  /** Answers what would happen, and changes nothing. */
  dry_run?: boolean;
  /** `stop` (default): nothing is imported. `keep`: what is here stays, the rest is imported. */
  on_conflict?: "stop" | "keep";
};

export type ConfigState = {
  /** null: the gateway was started without one. */
  file: string | null;
  /** `broken`: what is in the file cannot be taken, and what was taken before goes on. */
  state: "none" | "applied" | "broken";
  /** When the file was last taken up. */
  applied_at: string | null;
  /** Why it cannot be taken, in a sentence. */
  problem: string | null;
  mistakes: ConfigMistake[];
  /** What works, and could be better or is yet to come. */
  warnings: ConfigMistake[];
};

export type ConfigMistake = {
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** The field, as in `providers.openai.keys.0.weight`. */
  path: string;
  message: string;
};

export type ConfigExport = {
  /** In the shape of `keywheel.yaml`, as its JSON Schema has it. */
  document: {
    version: 1;
    providers: {
      [name: string]: {
        [name: string]: unknown;
      };
    };
    tokens?: {
      [name: string]: {
        [name: string]: unknown;
      };
    };
  };
  /** Variables to be set: their values are in the database alone until then. */
  variables: {
    name: string;
    provider: string;
    label: string;
    masked: string;
  }[];
};

/** Fields beyond these depend on `type`. */
export type RecentEvent = Event & {
  /** Of the key, now; null without one, or when it is gone. */
  label: string | null;
  /** The key, masked; null without one, or when it is gone. */
  api_key: string | null;
  [name: string]: unknown;
};

/** Fields beyond these depend on `type`. */
export type Event = {
  id: string;
  type:
    | "key-cooled"
    | "key-disabled"
    | "key-recovered"
    | "binding-moved"
    | "pool-exhausted"
    | "attempt-ended"
    | "request-finished"
    | "notice"
    | "provider-created"
    | "provider-changed"
    | "provider-deleted"
    | "key-created"
    | "key-changed"
    | "key-deleted"
    | "key-order-changed"
    | "token-created"
    | "token-changed"
    | "token-deleted"
    | "session-ended";
  at: string;
  provider_id?: string;
  key_id?: string;
  /** How many of this type went untold before it: of those that come with every request, 50 a second are. */
  skipped?: number;
  /** At most 100; load the list anew for the rest. */
  key_ids?: string[];
  [name: string]: unknown;
};

export interface Operations {
  /** Sign a browser in with the admin token */
  "POST /api/sign-in": {
    params: undefined;
    query: undefined;
    body: SignIn;
    answer: undefined;
  };
  /** Sign this browser out */
  "POST /api/sign-out": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Put a new admin token in the place of the present one */
  "POST /api/admin-token/rotate": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: NewAdminToken;
  };
  /** Make a link that signs a browser in, once, within 15 minutes */
  "POST /api/sign-in-links": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: SignInLink;
  };
  /** How the gateway and its pools stand */
  "GET /api/status": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: Status;
  };
  /** The providers that are known, to choose from */
  "GET /api/provider-presets": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: {
      data: ProviderPreset[];
    };
  };
  /** The models that the provider names */
  "GET /api/providers/{id}/models": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: {
      data: Model[];
    };
  };
  /** List providers */
  "GET /api/providers": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: {
      data: Provider[];
    };
  };
  /** Add a provider */
  "POST /api/providers": {
    params: undefined;
    query: undefined;
    body: ProviderCreate;
    answer: Provider;
  };
  /** Show a provider */
  "GET /api/providers/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: Provider;
  };
  /** Change a provider */
  "PATCH /api/providers/{id}": {
    params: { id: string };
    query: undefined;
    body: ProviderPatch;
    answer: Provider;
  };
  /** Delete a provider with its keys and sessions */
  "DELETE /api/providers/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List the keys of a provider */
  "GET /api/providers/{id}/keys": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: {
      data: Key[];
    };
  };
  /** Add a key */
  "POST /api/providers/{id}/keys": {
    params: { id: string };
    query: undefined;
    body: KeyCreate;
    answer: Key;
  };
  /** Add the keys of a pasted list */
  "POST /api/providers/{id}/keys/import": {
    params: { id: string };
    query: undefined;
    body: KeyImport;
    answer: KeyImportResult;
  };
  /** Put the keys of a provider in an order */
  "PUT /api/providers/{id}/keys/order": {
    params: { id: string };
    query: undefined;
    body: KeyOrder;
    answer: {
      data: Key[];
    };
  };
  /** Enable, disable, delete, reset or test many keys */
  "POST /api/providers/{id}/keys/bulk": {
    params: { id: string };
    query: undefined;
    body: KeyBulk;
    answer: KeyBulkResult;
  };
  /** The next turns of the wheel, taking none */
  "GET /api/providers/{id}/preview": {
    params: { id: string };
    query: { n?: number };
    body: undefined;
    answer: {
      data: string[];
    };
  };
  /** Show a key */
  "GET /api/keys/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: Key;
  };
  /** Change a key */
  "PATCH /api/keys/{id}": {
    params: { id: string };
    query: undefined;
    body: KeyPatch;
    answer: Key;
  };
  /** Delete a key */
  "DELETE /api/keys/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Call the provider with exactly this key, changing nothing */
  "POST /api/keys/{id}/test": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: KeyTestResult;
  };
  /** Clear the cooldown and the failure count of a key */
  "POST /api/keys/{id}/reset": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: Key;
  };
  /** Whether an environment variable could serve as a key */
  "GET /api/environment/{name}": {
    params: { name: string };
    query: undefined;
    body: undefined;
    answer: Variable;
  };
  /** List gateway tokens */
  "GET /api/tokens": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: {
      data: Token[];
    };
  };
  /** Make a token for a client */
  "POST /api/tokens": {
    params: undefined;
    query: undefined;
    body: TokenCreate;
    answer: NewToken;
  };
  /** Change what a token is good for */
  "PATCH /api/tokens/{id}": {
    params: { id: string };
    query: undefined;
    body: TokenPatch;
    answer: Token;
  };
  /** Revoke a token */
  "DELETE /api/tokens/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List sessions that are bound to a key, newest use first */
  "GET /api/sessions": {
    params: undefined;
    query: { provider?: string; key?: string; q?: string; limit?: number; cursor?: string };
    body: undefined;
    answer: SessionList;
  };
  /** End a session: its next request takes a turn on the wheel */
  "DELETE /api/sessions/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Requests that have ended, newest first, each with its explanation */
  "GET /api/requests": {
    params: undefined;
    query: { provider?: string; key?: string; session?: string; status?: string; limit?: number; cursor?: string };
    body: undefined;
    answer: RequestList;
  };
  /** One request with its explanation */
  "GET /api/requests/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: Request;
  };
  /** Requests, errors, failovers and tokens, summed up */
  "GET /api/usage": {
    params: undefined;
    query: { from?: string; to?: string; by?: string; provider?: string; key?: string };
    body: undefined;
    answer: Usage;
  };
  /** What keeping sessions on their keys was worth */
  "GET /api/affinity": {
    params: undefined;
    query: { from?: string; to?: string; provider?: string };
    body: undefined;
    answer: Affinity;
  };
  /** The requests of a session: which kept their key, and what came from the cache */
  "GET /api/sessions/{id}/affinity": {
    params: { id: string };
    query: { provider?: string };
    body: undefined;
    answer: SessionAffinity;
  };
  /** What a person should look at, last happened first */
  "GET /api/notices": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: {
      data: Notice[];
    };
  };
  /** Dismiss a notice, until it happens again or what it tells changes */
  "DELETE /api/notices/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List webhooks */
  "GET /api/webhooks": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: {
      data: Webhook[];
    };
  };
  /** Have events sent to a URL */
  "POST /api/webhooks": {
    params: undefined;
    query: undefined;
    body: WebhookCreate;
    answer: NewWebhook;
  };
  /** Change a webhook */
  "PATCH /api/webhooks/{id}": {
    params: { id: string };
    query: undefined;
    body: WebhookPatch;
    answer: Webhook;
  };
  /** Remove a webhook */
  "DELETE /api/webhooks/{id}": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Make the secret of a webhook anew */
  "POST /api/webhooks/{id}/rotate": {
    params: { id: string };
    query: undefined;
    body: WebhookRotation;
    answer: NewWebhook;
  };
  /** Send a test */
  "POST /api/webhooks/{id}/test": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: WebhookTest;
  };
  /** The last deliveries */
  "GET /api/webhooks/{id}/deliveries": {
    params: { id: string };
    query: undefined;
    body: undefined;
    answer: {
      data: WebhookDelivery[];
    };
  };
  /** Providers, keys and settings as a document */
  "POST /api/export": {
    params: undefined;
    query: undefined;
    body: Export;
    answer: ExportDocument;
  };
  /** Take in a document that was exported */
  "POST /api/import": {
    params: undefined;
    query: undefined;
    body: Import;
    answer: ImportReport;
  };
  /** How the file of configuration stands */
  "GET /api/config": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: ConfigState;
  };
  /** Read the file of configuration again now */
  "POST /api/config/reload": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: ConfigState;
  };
  /** All there is, as a file of configuration */
  "GET /api/config/export": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: ConfigExport;
  };
  /** What happened lately, newest first */
  "GET /api/recent-events": {
    params: undefined;
    query: { limit?: number };
    body: undefined;
    answer: {
      data: RecentEvent[];
    };
  };
  /** What happens, as it happens (server-sent events) */
  "GET /api/events": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** This document */
  "GET /api/openapi.json": {
    params: undefined;
    query: undefined;
    body: undefined;
    answer: {
      [name: string]: unknown;
    };
  };
}
