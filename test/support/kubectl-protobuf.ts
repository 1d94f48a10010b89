/**
 * Protobuf bodies that were recorded from kubectl 1.33, since other versions on this machine may send JSON.
 */
import { readFileSync } from 'node:fs';

interface RecordedRequest {
  readonly command: string;
  /** The path of the request, which was a POST. */
  readonly path: string;
  readonly body: Buffer;
  /** The object as kubectl prints it with `--dry-run=client -o json`, if the command has that option. */
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

/** Removes fields that are `null`, which Go reads as absent. */
export function asGoReads(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object), (_, value) => value ?? undefined);
}
