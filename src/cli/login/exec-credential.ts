/**
 * kubectl's protocol for credential plugins: `KUBERNETES_EXEC_INFO` has the version and whether the user may
 * be asked; standard output gets one ExecCredential. Without the variable a user runs the command directly.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { isJSONObject, readJSONObject } from '../../lib/json-object.ts';
import { withEscapedControls } from '../../lib/untrusted-text.ts';
import { LoginError, type ObtainedCredential } from './credential-source.ts';

const EXEC_CREDENTIAL_VERSIONS = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
] as const;
type ExecCredentialVersion = (typeof EXEC_CREDENTIAL_VERSIONS)[number];

export interface ExecRequest {
  readonly apiVersion: ExecCredentialVersion;
  /** False if kubectl forbids questions because standard input is used otherwise. */
  readonly mayAsk: boolean;
}

/**
 * @param info the value of `KUBERNETES_EXEC_INFO`
 * @throws LoginError if it is not an ExecCredential of a supported version
 */
export function readExecInfo(info: string | undefined): ExecRequest {
  if (info === undefined || info === '') return { apiVersion: EXEC_CREDENTIAL_VERSIONS[0], mayAsk: true };
  const { kind, apiVersion: asked, spec } = readJSONObject(info) ?? {};
  if (kind !== 'ExecCredential')
    throw new LoginError('KUBERNETES_EXEC_INFO holds no ExecCredential: it is for kubectl to set');
  const apiVersion = EXEC_CREDENTIAL_VERSIONS.find((version) => version === asked);
  if (apiVersion === undefined) {
    throw new LoginError(
      `kubectl asks for ${JSON.stringify(asked)}, but stonegate speaks ${EXEC_CREDENTIAL_VERSIONS.join(' and ')}: ` +
        "change the apiVersion under the user's exec in the kubeconfig",
    );
  }
  return { apiVersion, mayAsk: !(isJSONObject(spec) && spec.interactive === false) };
}

/** The complete standard output. */
export function writeExecCredential(
  apiVersion: ExecCredentialVersion,
  { token, expiresAt }: ObtainedCredential,
): string {
  const credential = {
    kind: 'ExecCredential',
    apiVersion,
    status: { token, expirationTimestamp: new Date(expiresAt).toISOString() },
  };
  return withEscapedControls(`${JSON.stringify(credential)}\n`, 'json');
}
