/**
 * What kubectl 1.33 sends in protobuf, recorded: other releases of the machine may send JSON.
 */
import { readFileSync } from 'node:fs';

interface RecordedRequest {
  readonly command: string;
  /** It was a POST. */
  readonly path: string;
  readonly body: Buffer;
  /** As kubectl prints it with `--dry-run=client -o json` if the command has that option. */
  readonly object: object;
}

export const KUBECTL_REQUESTS: readonly RecordedRequest[] = readFileSync(
  new URL('recorded/kubectl-1.33.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .map((request) => ({ ...request, body: Buffer.from(request.body, 'base64') }));

/** Go reads `null` as it reads an absent field. */
export function asGoReads(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object), (_, value) => value ?? undefined);
}
