/**
 * The section `tokens`: access tokens that users make for themselves. docs/tokens.md explains it.
 */
import { z } from 'zod';
import { type Output, period, tenant } from '../../lib/schema-fields.ts';
import { readScope, type ScopeSpec } from './scope.ts';

const lifetimesSchema = z.strictObject({
  userinfo: period.prefault('8760h').describe('Of tokens that only say who their owner is.'),
  read: period.prefault('2160h').describe('Of scopes that read.'),
  control: period.prefault('720h').describe('Of scopes that operate workloads.'),
  edit: period.prefault('720h').describe('Of scopes that write.'),
  manage: period.prefault('168h').describe('Of scopes with every verb.'),
  session: period.prefault('24h').describe('Of tokens with all rights of their owner.'),
  rules: period.prefault('720h').describe('Of tokens with rules of their own.'),
  escalating: period.prefault('168h').describe('Of tokens with a word for what escalates, such as +secrets.'),
});

export const tokensSchema = z.strictObject({
  namespace: tenant
    .default('stonegate')
    .describe('The namespace of the AccessToken objects; on Arktos, of the system tenant. It must exist.'),
  lifetimes: lifetimesSchema
    .prefault({})
    .describe(
      "The longest lives of tokens. The shortest of a token's scopes applies; older tokens that live longer are blocked.",
    ),
  signInMaxAge: period
    .prefault('720h')
    .describe(
      'For how long after the last sign-in of their owner tokens are valid. Users of Keystone are looked up instead.',
    ),
});

export type TokensConfiguration = Output<typeof tokensSchema>;

/** @returns the longest life of a token with these scopes, in milliseconds */
export function longestLife(
  { scopes, rules = [] }: ScopeSpec,
  lifetimes: TokensConfiguration['lifetimes'],
): number {
  const kinds = scopes.map((text) => readScope(text)?.kind ?? 'escalating');
  const lives = kinds.map((kind) => lifetimes[kind === 'word' ? 'escalating' : kind]);
  return Math.min(...lives, ...(rules.length > 0 ? [lifetimes.rules] : []));
}
