/**
 * `webhook`: a listener that answers an API server's reviews in place of k8s-keystone-auth. Clients always need a
 * certificate: whoever may ask could try tokens, and learn who may do what.
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import { z } from 'zod';
import type { WebhookSource } from '../api/config-v1alpha1.ts';
import { bind, type FileField, period, tenant } from './fields.ts';

const EXPECTED = 'exactly one of { file: … } and { configMap: { namespace, name } }';

function sourceSchema(file: FileField, key: string) {
  const objectName = z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, { error: 'the name of a ConfigMap' });
  const configMap = z.strictObject({
    namespace: tenant.default('kube-system').describe('Its namespace.'),
    name: objectName.describe('Its name.'),
  });
  return z
    .strictObject({
      file: file.exactOptional().describe('A file. Read anew when it changes.'),
      configMap: configMap
        .exactOptional()
        .describe(`A ConfigMap of the API server, by its key \`${key}\`; looked at again and again.`),
    })
    .transform(({ file: name, configMap: reference }, context): WebhookSource => {
      if (name !== undefined && reference === undefined) return { file: name };
      if (reference !== undefined && name === undefined) return { configMap: reference };
      context.addIssue({ code: 'custom', message: EXPECTED });
      return z.NEVER;
    });
}

export function webhookSchema(file: FileField) {
  return z.strictObject({
    bind: bind.default('0.0.0.0:8445').describe('HOST:PORT of a listener of its own.'),
    path: z
      .string()
      .regex(/^(\/[A-Za-z0-9._~-]+)+$/, { error: 'a path such as /webhook' })
      .default('/webhook')
      .describe('Where reviews are posted.'),
    tls: z
      .strictObject({
        certFile: file.describe('Its certificate with its chain, PEM.'),
        keyFile: file.describe('Its private key, PEM, not encrypted.'),
        clientCAFile: file.describe(
          "The CA of the API servers' client certificates; best one that signs nothing else.",
        ),
      })
      .describe('What API servers see, and what they must show. Read anew when a file changes.'),
    usernames: z
      .enum(['qualified', 'legacy'])
      .default('qualified')
      .describe(
        "`qualified`: as the API behind Stonegate knows people. `legacy`: k8s-keystone-auth's bare names, which users of two domains share.",
      ),
    policy: sourceSchema(file, 'policies')
      .exactOptional()
      .describe(
        'An authorization policy of k8s-keystone-auth. Without it no access review is answered with yes.',
      ),
    sync: sourceSchema(file, 'syncConfig')
      .exactOptional()
      .describe('A synchronisation file of k8s-keystone-auth.'),
    configMapInterval: period
      .prefault('10s')
      .describe('From the end of one look at a ConfigMap to the next.'),
  });
}
