/**
 * User names that two users never share. Keystone's names are free text, so their parts are escaped until `:`
 * and `@` are Stonegate's only; a delegated token gets a name of its own, so that it never inherits what its
 * user holds by name. Names of local users are qualified with the tenant, unless the API server reads it from
 * the user's name anyway.
 */

import { StatusError } from '../errors/status-error.ts';
import type { TenancyFacts } from './facts.ts';
import type { Identity, LocalSubject, QualifiedIdentity, Subject } from './identity.ts';

type KeystoneSubject = Extract<Subject, { kind: 'keystone' }>;

/** Words that stand before an id in a delegated token's name; no claim may look like one. */
export const DELEGATION_WORDS: ReadonlySet<string> = new Set(['application-credential', 'trust']);

/**
 * One free-text part of a name, with `%`, `:` and `@` percent-encoded.
 *
 * @throws StatusError IdentityUnusable if it is ambiguous in a header: another name would look the same
 */
export function escapeNamePart(part: string): string {
  assertUsable(part, 'the user name');
  return part.replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll('@', '%40');
}

/**
 * The user within the domain: `alice`, or `application-credential:<id>`.
 *
 * @throws StatusError IdentityUnusable
 */
export function nameInDomain({ userName, delegation }: KeystoneSubject): string {
  return delegation === undefined
    ? escapeNamePart(userName)
    : `${delegation.kind}:${escapeNamePart(delegation.id)}`;
}

/**
 * HTTP takes blanks off the ends of a header's value, and text that is not well-formed becomes a replacement
 * character: either way two names would become one.
 *
 * @param what names it in the message
 * @throws StatusError IdentityUnusable
 */
export function assertUsable(text: string, what: string): void {
  if (text === '') throw unusable(what, 'is empty');
  if (/^\s|\s$/u.test(text)) throw unusable(what, 'begins or ends with a space');
  assertSendable(text, what);
}

/**
 * @param what names it in the message
 * @throws StatusError IdentityUnusable for what cannot travel in a header
 */
export function assertSendable(text: string, what: string): void {
  if (/\p{Cc}/u.test(text)) throw unusable(what, 'holds a control character');
  if (!text.isWellFormed()) throw unusable(what, 'is no well-formed text');
}

function unusable(what: string, why: string): StatusError {
  return new StatusError('IdentityUnusable', `this identity cannot be used: ${what} ${why}`);
}

type Facts = Pick<TenancyFacts, 'readsTenantFromName'>;

/** @returns the same identity with a local user's name and groups qualified, and without an access token */
export function qualified({ accessToken: _, ...identity }: Identity, facts: Facts): QualifiedIdentity {
  if ('groups' in identity) return identity;
  const { subject, tenantOrigin } = identity;
  const { name, groups } = qualifiedNames(subject, tenantOrigin.tenant, facts);
  return { ...identity, subject: { kind: 'claim', name }, groups };
}

/** A local user's name and groups with their prefixes and, unless the API server reads it, the tenant. */
export function qualifiedNames(
  { usernamePrefix, groupsPrefix, name, groups }: Omit<LocalSubject, 'kind'>,
  tenant: string,
  { readsTenantFromName }: Facts,
): Pick<LocalSubject, 'name' | 'groups'> {
  const within = readsTenantFromName ? '' : `${tenant}:`;
  return {
    name: `${usernamePrefix}${within}${name}`,
    groups: [...new Set(groups.map((group) => `${groupsPrefix}${within}${group}`))],
  };
}
