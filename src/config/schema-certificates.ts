/**
 * `authentication.clientCertificates`: kube-apiserver's `--client-ca-file`, with a tenant in each certificate.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
 */
import { z } from 'zod';
import { prefixOrNone } from './fields.ts';
import type { FileField } from './schema-secret.ts';

const ownPrefix = prefixOrNone.prefault('x509:');

export function clientCertificatesSchema(file: FileField) {
  return z.strictObject({
    caFile: file.describe(
      'The authorities whose certificates are believed, PEM, each up to its root. Read anew when it changes; connections it would refuse are closed.',
    ),
    usernamePrefix: ownPrefix.describe('Put before user names, so that nobody shares one. `-` means none.'),
    groupsPrefix: ownPrefix.describe('Put before groups. `-` means none.'),
    allowSystemTenant: z
      .boolean()
      .default(false)
      .describe('Whether certificates may be of the system tenant.'),
  });
}
