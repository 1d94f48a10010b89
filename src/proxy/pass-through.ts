/**
 * Users whom the API server itself authenticated are forwarded with their own token and never impersonated: a
 * service account's name holds no tenant, and any other name that the API server knows could be one that
 * Stonegate gives. A last check verifies that nothing else on the request names a user.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Credential } from '../identity/credential.ts';
import type { Sender } from '../kubernetes/upstream-request.ts';
import type { HeaderField, HeaderList } from '../lib/header-list.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { ImpersonationOptions } from './impersonation/impersonate.ts';
import { fieldRule } from './request/client-headers.ts';

const STONEGATE: Sender = { kind: 'stonegate' };

/** @throws StatusError InvariantBroken if a pass-through user has no bearer token */
export function senderOf({ subject }: Identity, credential: Credential | undefined): Sender {
  if (subject.kind !== 'upstream') return STONEGATE;
  if (credential?.kind !== 'bearer') throw invalid();
  return { kind: 'client', token: credential.token };
}

/**
 * @param cleaned the client's headers after `cleanClientHeaders`
 * @returns all headers that are sent except the token, which `upstream/` adds
 * @throws StatusError InvariantBroken if a header names a user
 */
export function passThrough(
  cleaned: HeaderList,
  options: Omit<ImpersonationOptions, 'maxHeaderBytes'>,
): HeaderField[] {
  const headers: HeaderField[] = [
    ...cleaned,
    ['Audit-ID', options.auditID],
    ['X-Forwarded-For', options.clientAddress],
  ];
  assertNoIdentity(headers);
  return headers;
}

/**
 * Verifies the finished headers before they are sent.
 *
 * @throws StatusError InvariantBroken
 */
export function assertNoIdentity(headers: HeaderList): void {
  for (const field of headers) {
    const { canonical, identity } = fieldRule(field[0]);
    if (identity && canonical !== 'x-forwarded-for') throw invalid();
  }
}

function invalid(): StatusError {
  return new StatusError('InvariantBroken', 'Internal error occurred: invalid pass-through');
}
