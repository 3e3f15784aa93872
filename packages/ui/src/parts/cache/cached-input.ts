/** Input as answers told it. */
export interface InputCounts {
  readonly input_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
}

/** All input tokens, whether or not a cache knew them. */
export function inputOf({
  input_tokens: input,
  cache_read_tokens: read,
  cache_write_tokens: written,
}: InputCounts): number {
  return input + read + written;
}
