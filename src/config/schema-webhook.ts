/**
 * The schema of `webhook`, a listener that replaces k8s-keystone-auth. Clients must always present a
 * certificate: any client that could post reviews could test tokens and learn the rights of users.
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
      file: file.exactOptional().describe('A file. Reloaded if it changes.'),
      configMap: configMap
        .exactOptional()
        .describe(`A ConfigMap of the API server, read periodically from its key \`${key}\`.`),
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
    bind: bind.default('0.0.0.0:8445').describe('HOST:PORT of a separate listener.'),
    path: z
      .string()
      .regex(/^(\/[A-Za-z0-9._~-]+)+$/, { error: 'a path such as /webhook' })
      .default('/webhook')
      .describe('The path that reviews are posted to.'),
    tls: z
      .strictObject({
        certFile: file.describe('Its certificate with its chain, PEM.'),
        keyFile: file.describe('Its private key, PEM, not encrypted.'),
        clientCAFile: file.describe(
          "The CA of the API servers' client certificates; preferably a CA that signs nothing else.",
        ),
      })
      .describe(
        'The server certificate, and the CA of the client certificates that API servers must present. Reloaded if a file changes.',
      ),
    usernames: z
      .enum(['qualified', 'legacy'])
      .default('qualified')
      .describe(
        "`qualified`: the names that Stonegate impersonates. `legacy`: k8s-keystone-auth's bare names, which users of two domains may share.",
      ),
    policy: sourceSchema(file, 'policies')
      .exactOptional()
      .describe('An authorization policy of k8s-keystone-auth. Without it no access review is allowed.'),
    sync: sourceSchema(file, 'syncConfig')
      .exactOptional()
      .describe('A synchronization file of k8s-keystone-auth.'),
    configMapInterval: period.prefault('10s').describe('Time between two reads of a ConfigMap.'),
  });
}
