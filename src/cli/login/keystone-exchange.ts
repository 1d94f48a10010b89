/**
 * The login request to Keystone, and its errors in words. It is imported only without a valid cached token,
 * because loading the HTTP packages would delay every kubectl call.
 */

import { StatusError } from '../../errors/status-error.ts';
import { createKeystoneHTTP } from '../../identity/keystone/keystone-http.ts';
import {
  type KeystoneAuthMethod,
  logIn,
  lookUpToken,
  type RefusedLogin,
} from '../../identity/keystone/keystone-login.ts';
import { noTelemetry } from '../../lib/telemetry.ts';
import { readGiven } from '../given-file.ts';
import { LoginError, type ObtainedCredential, type Terminal } from './credential-source.ts';
import { INSTEAD, type KeystonePlan, type PlannedProof } from './keystone-settings.ts';

/** Milliseconds. */
const TIMEOUT = 30_000;

/**
 * Asks the user for a missing secret if there is a terminal.
 *
 * @throws LoginError with a sentence for the user
 */
export async function logInAtKeystone(plan: KeystonePlan, terminal: Terminal): Promise<ObtainedCredential> {
  const { url, caFile, scope } = plan;
  const { clock } = terminal;
  const proof = await prove(plan, terminal);
  const trust = caFile === undefined ? {} : { ca: await readGiven('cacert', caFile) };
  const http = createKeystoneHTTP({ url, ...trust, timeout: TIMEOUT, clock, telemetry: noTelemetry });
  try {
    const asItIs = proof.method === 'token' && scope === undefined;
    const login = asItIs
      ? await lookUpToken(http, proof.token, clock.now())
      : await logIn(http, proof, scope, clock.now());
    if (login.issued !== undefined) return login.issued;
    throw new LoginError(
      `${refusalMessage(plan.proof, login)} (Keystone at ${url} answered ${login.refused})`,
    );
  } catch (error) {
    if (error instanceof StatusError) throw new LoginError(unreachable(url, error));
    throw error;
  } finally {
    await http.close();
  }
}

async function prove({ url, proof }: KeystonePlan, terminal: Terminal): Promise<KeystoneAuthMethod> {
  switch (proof.method) {
    case 'token':
      return { method: 'token', token: proof.secret };
    case 'password': {
      const password = proof.secret ?? (await askSecret('password', proof, url, terminal));
      return { method: 'password', user: proof.user, password };
    }
    case 'application_credential': {
      const { method, credential } = proof;
      const word = 'application_credential_secret';
      return { method, credential, secret: proof.secret ?? (await askSecret(word, proof, url, terminal)) };
    }
  }
}

async function askSecret(
  word: string,
  proof: PlannedProof,
  url: string,
  terminal: Terminal,
): Promise<string> {
  const what = `the ${word.replaceAll('_', ' ')} of ${describe(proof)}`;
  if (terminal.interactive) return terminal.askHidden(`${capital(what)} at ${url}: `);
  throw new LoginError(
    `${what} is missing, and there is no terminal to ask for it: ` +
      `give ${word} in secure.yaml or OS_${word.toUpperCase()}`,
  );
}

/** Keystone does not report the reason, so that clients cannot find out which users exist. */
function refusalMessage(proof: PlannedProof, { refused, secondFactors }: RefusedLogin): string {
  if (secondFactors !== undefined) {
    const rules = secondFactors.map((rule) => rule.join(' with ')).join(', or ');
    return `one proof is not enough: Keystone wants ${rules || 'another'} of ${describe(proof)}. ${INSTEAD}`;
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
  switch (proof.method) {
    case 'password': {
      const { user } = proof;
      if ('id' in user) return `the user ${user.id}`;
      return `${user.name} of the domain ${'id' in user.domain ? user.domain.id : user.domain.name}`;
    }
    case 'token':
      return 'the token';
    case 'application_credential':
      return `the application credential ${'id' in proof.credential ? proof.credential.id : proof.credential.name}`;
  }
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
  const hint = certificate ? '. Its authority is given with cacert, OS_CACERT or --os-cacert' : '';
  return `no login at Keystone ${url}: ${reasons.join(': ') || error.message}${hint}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
