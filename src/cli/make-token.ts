/**
 * Asks a running Stonegate for an access token, or for another secret of one. The secret is for standard
 * output or a file; everything else about the token is a note.
 */
import { OWN_ACCESS_TOKENS, type ShownToken } from '../features/tokens/access-token-v1alpha1.ts';
import { parseDuration } from '../lib/go-time.ts';
import { type Note, UsageError } from './command.ts';
import { readGiven } from './given-file.ts';
import { createOwnObjectClient } from './own-object-client.ts';
import { readYAML } from './read-yaml.ts';
import { type StonegateAddress, StonegateAPIError } from './stonegate-api.ts';

export interface TokenRequest {
  readonly scopes?: readonly string[] | undefined;
  /** A file of rules. */
  readonly rules?: string | undefined;
  readonly description?: string | undefined;
  readonly expires?: string | undefined;
}

/**
 * @param option the option of `expires` as the command spells it
 * @returns the secret
 * @throws UsageError, or StonegateAPIError
 */
export async function makeToken(
  address: StonegateAddress,
  { scopes = [], rules, description, expires }: TokenRequest,
  note: Note,
  option = '--expires',
): Promise<string> {
  const spec = {
    description,
    scopes,
    rules: rules === undefined ? undefined : await readRules(rules),
    expirationSeconds: expires === undefined ? undefined : secondsIn(option, expires),
  };
  try {
    return secretIn(await createOwnObjectClient<ShownToken>(address, OWN_ACCESS_TOKENS).create(spec), note);
  } catch (error) {
    // The longest life depends on the scopes and on the server, which says it.
    const isMissing = expires === undefined && error instanceof StonegateAPIError;
    if (!isMissing || !error.message.includes('spec.expirationSeconds')) throw error;
    throw new UsageError(`${option} is required, such as 12h or 30d: ${error.message}`);
  }
}

/** @returns the secret; what else is known of the token becomes notes */
export function secretIn({ metadata, status }: ShownToken, note: Note): string {
  const { token, expirationTimestamp, notes = [] } = status;
  if (token === undefined || !/^[!-~]+$/.test(token))
    throw new StonegateAPIError('the server sent no secret');
  note(`access token ${metadata.name}, valid until ${expirationTimestamp}. Its secret is not shown again`);
  for (const line of notes) note(line);
  return token;
}

/**
 * @param text Go's duration, or days
 * @throws UsageError
 */
export function secondsIn(option: string, text: string): number {
  const [, days] = /^(\d+)d$/.exec(text) ?? [];
  const milliseconds = parseDuration(days === undefined ? text : `${Number(days) * 24}h`);
  if (milliseconds !== undefined) return Math.round(milliseconds / 1_000);
  throw new UsageError(`${option} is a duration such as 10m, 12h or 30d, not ${JSON.stringify(text)}`);
}

async function readRules(file: string): Promise<unknown> {
  const { data } = readYAML(await readGiven('--rules', file), file);
  if (Array.isArray(data)) return data;
  throw new UsageError('--rules must be a list of rules: verbs, apiGroups, resources, namespaces');
}
