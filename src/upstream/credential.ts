/**
 * Stonegate's credential at the API server, and its user name as far as the credential shows it: the common
 * name of a certificate, or the account of a service account's token. An opaque token shows no name.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/
 */
import { X509Certificate } from 'node:crypto';
import { SERVICE_ACCOUNT_PREFIX } from '../kubernetes/reserved-names.ts';
import { readJSONObject } from '../lib/json-object.ts';

export type UpstreamCredential =
  | { readonly token: string }
  | { readonly cert: string | Buffer; readonly key: string | Buffer };

/** @returns undefined if it is not known */
export function ownUserName(credential: UpstreamCredential): string | undefined {
  return 'token' in credential ? subjectOf(credential.token) : commonNameOf(credential.cert);
}

function commonNameOf(cert: string | Buffer): string | undefined {
  try {
    const name: unknown = new X509Certificate(cert).toLegacyObject().subject.CN;
    return typeof name === 'string' ? name : undefined;
  } catch {
    // An invalid certificate fails when connections are opened, and is reported then.
    return undefined;
  }
}

function subjectOf(token: string): string | undefined {
  const [, payload = ''] = token.split('.');
  const subject = readJSONObject(Buffer.from(payload, 'base64url'))?.sub;
  return typeof subject === 'string' && subject.startsWith(SERVICE_ACCOUNT_PREFIX) ? subject : undefined;
}
