import type { Question } from "../ports/shared-state.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";
import type { SharedValues } from "../rules/shared-values.ts";
import type { EpochMs } from "../rules/time.ts";
import type { Conversation } from "./conversation/places.ts";
import { stringValue } from "./json-scan.ts";
import type { ProviderKind } from "./kinds.ts";
import {
  isListing,
  keepingFields,
  keepsEverything,
  mayShowObjects,
  objectInModel,
  objectPrint,
  objectsInBody,
  objectsInPath,
  objectsInQuery,
} from "./objects.ts";
import { isSharable, sessionFields, sessionOf } from "./sessions.ts";

/** A request as far as it tells where it belongs. */
export interface AskingRequest<Body extends RequestBody> {
  readonly poolId: string;
  readonly kind: ProviderKind;
  /** The provider's slug, or null. */
  readonly preset: string | null;
  /** Who sends it, where equal sessions of several callers must be kept apart; "" if there is one. */
  readonly caller: string;
  readonly method: string;
  /** Path at the provider, without the query. */
  readonly path: string;
  /** Without "?". */
  readonly query: string;
  /** A header's value by lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** The whole body, if it is at hand. */
  readonly body: Body | undefined;
  /** The model that something other than path and body names, for requests without a body. */
  readonly model?: string | undefined;
  readonly at: EpochMs;
}

/** The text of a body: to be searched, and read as Latin-1 where only ASCII is looked for. */
export interface RequestBody {
  latin1(): string;
  includes(text: string): boolean;
}

/** How JSON bodies are read. */
export interface BodyReader<Body extends RequestBody> {
  /** The raw JSON texts of these top-level fields; a long value is as if it were absent. */
  fields(body: Body, wanted: ReadonlySet<string>): ReadonlyMap<string, string>;
  conversation(body: Body, scope: string): Conversation | undefined;
  /** What the user said first. */
  opening(body: Body): Fingerprint | undefined;
}

/** What the pool is asked with. */
export interface AskedPool {
  readonly hasPins: boolean;
  readonly affinityEnabled: boolean;
  readonly sharedValues: SharedValues;
}

/** What a request wants of the pool, and what may be learnt from its answer. */
export interface Asked {
  readonly question: Question;
  /** That it names. */
  readonly model: string | undefined;
  /** Whether the answer may show objects that later calls will name. */
  readonly mayShowObjects: boolean;
}

const scannedFields: ReadonlySet<string> = new Set(["model", ...keepingFields, ...sessionFields]);
/** Endpoints whose requests carry a conversation; elsewhere an `input` is a text like any other. */
const conversing =
  /\/(chat\/completions|responses|messages|api\/chat|chat)\/?$|:(generateContent|streamGenerateContent)$/;
const noFields: ReadonlyMap<string, string> = new Map();
const longestModel = 256;

/**
 * Reads session, model and named objects from headers, path and body.
 *
 * @param reader how the body is read
 * @see contract §2 "Sessions", §4 rule 11
 */
export function askPool<Body extends RequestBody>(
  request: AskingRequest<Body>,
  pool: AskedPool,
  reader: BodyReader<Body>,
): Asked {
  const { method, path, poolId } = request;
  const json = isReadableJson(request) ? request.body : undefined;
  const fields = json === undefined ? noFields : reader.fields(json, scannedFields);
  const scope = scopeOf(poolId, request.caller);
  const named = sessionOf(scope, request.header, fields);
  const mayBeShared = named !== undefined && isSharable(named);
  const isShared =
    mayBeShared &&
    pool.sharedValues.isShared(named.fingerprint, json === undefined ? undefined : reader.opening(json), request.at);
  const session = isShared ? undefined : named;
  // A conversation under a name that turns out to be shared shall stay where it is.
  const mayContinue = (session === undefined || mayBeShared) && json !== undefined && pool.affinityEnabled;
  const conversation = mayContinue && conversing.test(path) ? reader.conversation(json, scope) : undefined;
  const model = modelInPath(request.kind, path) ?? request.model ?? stringValue(fields.get("model"));
  const objects = pool.hasPins ? namedObjects(request, json, model) : [];
  const question: Question = {
    ...(session === undefined ? {} : { session }),
    ...(conversation === undefined ? {} : { conversation }),
    model: (model ?? endpointOf(method, path)).slice(0, longestModel),
    ...(objects.length === 0 ? {} : { objects }),
    ...(session === undefined && (isListing(method, path) || isProbe(method, path)) ? { first: true } : {}),
  };
  const shows = mayShowObjects(method, path, fields, json) || keepsEverything(request.preset);
  return { question, model: model?.slice(0, longestModel), mayShowObjects: shows };
}

/**
 * Whether a request only asks if somebody is there. Claude Code sends one before each session; if it took a turn, then all
 * sessions would come to every other key, with two keys to one of them.
 */
function isProbe(method: string, path: string): boolean {
  return method === "HEAD" && path.endsWith("/api/hello");
}

/** What keeps equal sessions of different pools and callers apart. */
export function scopeOf(poolId: string, caller: string): string {
  return `${poolId}\n${caller}`;
}

const gemini = /\/models\/([^/:]+)/;
const azure = /\/deployments\/([^/]+)/;

/** The model that a path names, or undefined. */
function modelInPath(kind: ProviderKind, path: string): string | undefined {
  if (kind === "gemini") return gemini.exec(path)?.[1];
  if (kind === "azure-openai") return azure.exec(path)?.[1];
  return undefined;
}

/** What a key may lack where no model is named: a method on a path, whatever object it is about. */
function endpointOf(method: string, path: string): string {
  const words = path.split("/").map((segment) => (isWord(segment) ? segment : "*"));
  return `${method} ${words.join("/")}`;
}

/** A version or a word of the API's; all else is a name. */
function isWord(segment: string): boolean {
  return segment.length <= 32 && /^(?:v\d+[a-z\d]*|[A-Za-z_-]*)$/.test(segment);
}

function namedObjects(
  { poolId, path, query }: AskingRequest<RequestBody>,
  json: RequestBody | undefined,
  model: string | undefined,
): Fingerprint[] {
  const ids = [...objectsInQuery(query), ...objectsInPath(path)];
  if (model !== undefined) ids.push(...objectInModel(model));
  if (json !== undefined) ids.push(...objectsInBody(json.latin1()));
  return ids.map((id) => objectPrint(poolId, id));
}

/** Whether the body is JSON that can be read as it is. */
function isReadableJson({ header }: AskingRequest<RequestBody>): boolean {
  const encoding = header("content-encoding");
  const isPlain = encoding === undefined || encoding.toLowerCase() === "identity";
  return isPlain && /[/+]json\b/i.test(header("content-type") ?? "");
}
