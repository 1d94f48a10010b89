/**
 * The login request to Keystone, and its errors in words. It is imported only without a valid cached token,
 * because loading the HTTP packages would delay every kubectl call.
 */

import { StatusError } from '../../errors/status-error.ts';
import { createKeystoneHTTP, type KeystoneHTTP } from '../../identity/keystone/keystone-http.ts';
import {
  type KeystoneAuthMethod,
  logIn,
  lookUpToken,
  type RefusedLogin,
} from '../../identity/keystone/keystone-login.ts';
import type { Clock } from '../../lib/clock.ts';
import { noTelemetry } from '../../lib/telemetry.ts';
import { trustSystemAuthorities } from '../../lib/transport-security.ts';
import { readGiven } from '../given-file.ts';
import { LoginError, type ObtainedCredential, type Terminal } from './credential-source.ts';
import { INSTEAD, type KeystonePlan, type PlannedProof } from './keystone-settings.ts';

/** Milliseconds. */
const TIMEOUT = 30_000;

/**
 * Calls the Keystone of the plan.
 *
 * @throws LoginError if it cannot be asked
 */
export async function withKeystone<Answer>(
  { url, caFile }: KeystonePlan,
  clock: Clock,
  ask: (http: KeystoneHTTP) => Promise<Answer>,
): Promise<Answer> {
  const trust = caFile === undefined ? {} : { ca: await readGiven('cacert', caFile) };
  trustSystemAuthorities();
  const http = createKeystoneHTTP({ url, ...trust, timeout: TIMEOUT, clock, telemetry: noTelemetry });
  try {
    return await ask(http);
  } catch (error) {
    if (error instanceof StatusError) throw new LoginError(unreachable(url, error));
    throw error;
  } finally {
    await http.close();
  }
}

/**
 * Asks the user for a missing secret if there is a terminal.
 *
 * @throws LoginError with a sentence for the user
 */
export async function logInAtKeystone(plan: KeystonePlan, terminal: Terminal): Promise<ObtainedCredential> {
  const { url, scope } = plan;
  const { clock } = terminal;
  const proof = await prove(plan, terminal);
  const login = await withKeystone(plan, clock, (http) =>
    proof.method === 'token' && scope === undefined
      ? lookUpToken(http, proof.token, clock.now())
      : logIn(http, proof, scope, clock.now()),
  );
  if (login.issued !== undefined) return login.issued;
  throw new LoginError(`${refusalMessage(plan.proof, login)} (Keystone at ${url} answered ${login.refused})`);
}

async function prove({ url, proof }: KeystonePlan, terminal: Terminal): Promise<KeystoneAuthMethod> {
  if (proof.method === 'token') return { method: 'token', token: proof.secret };
  const secret = proof.secret ?? (await askSecret(proof, url, terminal));
  return proof.method === 'password'
    ? { method: 'password', user: proof.user, password: secret }
    : { method: proof.method, credential: proof.credential, secret };
}

async function askSecret(proof: PlannedProof, url: string, terminal: Terminal): Promise<string> {
  const word = proof.method === 'password' ? 'password' : 'application_credential_secret';
  const what = `${word.replaceAll('_', ' ')} of ${describe(proof)}`;
  if (terminal.interactive) return terminal.askHidden(`The ${what} at ${url}: `);
  throw new LoginError(
    `the ${what} is missing, and there is no terminal to ask for it: ` +
      `set ${word} in secure.yaml or OS_${word.toUpperCase()}`,
  );
}

/** Keystone does not report the reason, so that clients cannot find out which users exist. */
function refusalMessage(proof: PlannedProof, { refused, secondFactors }: RefusedLogin): string {
  if (secondFactors !== undefined) {
    const rules = secondFactors.map((rule) => rule.join(' with ')).join(', or ');
    return `one proof is not enough: Keystone asks for ${rules || 'another'} of ${describe(proof)}. ${INSTEAD}`;
  }
  switch (proof.method) {
    case 'password':
      return `login refused: the password of ${describe(proof)} is wrong, or the user, the domain or the scope; Keystone does not say which`;
    case 'token':
      return 'login refused: the token has expired, was revoked, or may not be exchanged for this scope';
    case 'application_credential':
      return refused === 404
        ? `login refused: there is no ${describe(proof).slice(4)}`
        : `login refused: the secret of ${describe(proof)} is wrong, or it has expired`;
  }
}

function describe(proof: PlannedProof): string {
  if (proof.method === 'token') return 'the token';
  if (proof.method === 'application_credential')
    return `the application credential ${idOrName(proof.credential)}`;
  const { user } = proof;
  return 'id' in user ? `the user ${user.id}` : `${user.name} of the domain ${idOrName(user.domain)}`;
}

function idOrName(reference: { readonly id: string } | { readonly name: string }): string {
  return 'id' in reference ? reference.id : reference.name;
}

/** The reasons are in the chain of causes; none of them quotes Keystone's response. */
function unreachable(url: string, error: StatusError): string {
  const reasons: string[] = [];
  let certificate = false;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    reasons.push(cause.message || code);
    certificate ||= /CERT|SIGNATURE|ALTNAME/.test(code);
  }
  const hint = certificate ? '. Set its authority with cacert, OS_CACERT or --os-cacert' : '';
  return `no login at Keystone ${url}: ${reasons.join(': ') || error.message}${hint}`;
}
