/**
 * Whom the API server itself vouches for goes through with their own token, never impersonated: a service account's
 * name holds no tenant, and any other name the API server knows could be one that Stonegate gives. Such a request must
 * carry nothing else that says who it is, and this is looked at once more right before it is sent.
 */
import type { Identity } from '../api/identity.ts';
import type { Sender } from '../api/upstream-request.ts';
import type { Credential } from '../authentication/credential.ts';
import { StatusError } from '../errors/status-error.ts';
import type { HeaderField, HeaderList } from '../lib/header-list.ts';
import { fieldRule } from './client-headers.ts';
import type { ImpersonationOptions } from './impersonate.ts';

const STONEGATE: Sender = { kind: 'stonegate' };

/**
 * @throws StatusError InvariantBroken for somebody who may only go through with a token and has brought none
 */
export function senderOf({ subject }: Identity, credential: Credential | undefined): Sender {
  if (subject.kind !== 'upstream') return STONEGATE;
  if (credential?.kind !== 'bearer') throw invalid();
  return { kind: 'client', token: credential.token };
}

/**
 * @param cleaned the client's headers after `cleanClientHeaders`
 * @returns all that is sent but for the token, which the adapter puts on
 * @throws StatusError InvariantBroken where anything on the request says who it is
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
 * The last look before sending.
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
