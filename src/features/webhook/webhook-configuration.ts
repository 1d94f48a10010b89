/**
 * The section `webhook`, a listener that replaces k8s-keystone-auth. Clients must always present a
 * certificate: any client that could post reviews could test tokens and learn the rights of users.
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import { z } from 'zod';
import { bind, type Output, period, tenant } from '../../lib/schema-fields.ts';
import { file, serverCertificate } from '../../lib/schema-files.ts';

const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, { error: 'the name of a ConfigMap' });

function source(key: string) {
  const configMap = z.strictObject({
    namespace: tenant.default('kube-system').describe('Its namespace.'),
    name: objectName.describe('Its name.'),
  });
  return z.xor(
    [
      z.strictObject({ file: file('webhook-rules').describe('A file. Reloaded if it changes.') }),
      z.strictObject({
        configMap: configMap.describe(
          `A ConfigMap of the API server, read periodically from its key \`${key}\`.`,
        ),
      }),
    ],
    { error: 'exactly one of { file: … } and { configMap: { namespace, name } }' },
  );
}

export const webhookSchema = z.strictObject({
  bind: bind.default('0.0.0.0:8445').describe('HOST:PORT of a separate listener.'),
  path: z
    .string()
    .regex(/^(\/[A-Za-z0-9._~-]+)+$/, { error: 'a path such as /webhook' })
    .default('/webhook')
    .describe('The path that reviews are posted to.'),
  tls: z
    .strictObject({
      ...serverCertificate,
      clientCAFile: file('ca').describe(
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
  policy: source('policies')
    .exactOptional()
    .describe('An authorization policy of k8s-keystone-auth. Without it no access review is allowed.'),
  sync: source('syncConfig').exactOptional().describe('A synchronization file of k8s-keystone-auth.'),
  configMapInterval: period.prefault('10s').describe('Time between two reads of a ConfigMap.'),
});

export type WebhookConfiguration = Output<typeof webhookSchema>;
/** The source of a policy or of synchronization rules. */
export type WebhookSource = Output<ReturnType<typeof source>>;
export type ConfigMapReference = Extract<WebhookSource, { configMap: unknown }>['configMap'];
