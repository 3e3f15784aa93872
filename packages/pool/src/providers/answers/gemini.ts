import type { RecognisedAnswer } from "../../rules/recognised-answer.ts";

export const geminiAnswers: readonly RecognisedAnswer[] = [
  { status: [400], code: ["API_KEY_INVALID"], means: "key_refused" }, // DD-G, G-iss
  {
    status: [402, 429],
    code: ["RESOURCE_EXHAUSTED"],
    phrase: ["prepayment credits"],
    means: "quota_exhausted",
    // G-forum
  },
  // The plan backend tells that a model is full for everybody as a rate limit.
  { status: [429], code: ["MODEL_CAPACITY_EXHAUSTED"], means: "provider_busy" }, // GCLI
  // A quota of nought never refills: the delay that comes with it means nothing.
  { status: [429], marks: ["quota_zero"], means: "model_rate_limited", wait: "none" }, // G-iss, GCLI
  {
    status: [429],
    marks: ["quota_per_day", "quota_per_model"],
    means: "model_rate_limited",
    wait: "pacific-midnight",
    // G-rl, G-iss
  },
  { status: [429], marks: ["quota_per_day"], means: "rate_limited", wait: "pacific-midnight" }, // G-rl
  { status: [429], marks: ["quota_per_model"], means: "model_rate_limited" }, // G-iss, GCLI
  {
    status: [400],
    code: ["FAILED_PRECONDITION"],
    phrase: ["location is not supported"],
    means: "region_refused",
    // G-err
  },
  {
    status: [403],
    code: ["PERMISSION_DENIED"],
    phrase: ["permission to access the file", "cachedcontent not found"],
    means: "object_of_other_key",
    // G-iss
  },
  {
    status: [400],
    code: ["INVALID_ARGUMENT"],
    phrase: ["input token count"],
    means: "context_too_long",
    // G-err
  },
  { status: [404], code: ["NOT_FOUND"], means: "model_missing" }, // G-err
];
