/**
 * The feature `webhook`: answers an API server's reviews in place of k8s-keystone-auth. See docs/webhook.md.
 */

import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { defineFeature } from '../define-feature.ts';
import type { Provisioning } from '../provisioning-credential.ts';
import * as METRICS from './metrics.ts';
import { checkWebhookFiles, syncSupport } from './sync-file.ts';
import { type WebhookConfiguration, type WebhookSource, webhookSchema } from './webhook-configuration.ts';

interface WebhookReads
  extends Pick<CoreConfiguration, 'authentication' | 'tenancy' | 'server'>,
    Provisioning {
  readonly webhook?: WebhookConfiguration;
}

export const webhook = defineFeature({
  name: 'webhook',
  sections: {
    webhook: webhookSchema
      .exactOptional()
      .describe("A webhook for an API server's reviews that replaces k8s-keystone-auth. Off without it."),
  },
  restartFields: ['webhook.bind'],
  listener: ({ webhook }: WebhookReads) => webhook,
  rules: ({ webhook, authentication, tenancy }: WebhookReads) => [
    [
      'authentication.keystone',
      webhook !== undefined && authentication.keystone === undefined,
      'is required with webhook, which answers for the tokens of Keystone',
    ],
    [
      'webhook.usernames',
      webhook?.usernames === 'legacy' && tenancy.facts.readsTenantFromName,
      'expected qualified: in arktos mode the API server reads the tenant from the name',
    ],
  ],
  warnings: ({ webhook }: WebhookReads) => [
    [
      'webhook.usernames',
      webhook?.usernames === 'legacy',
      'is legacy: users of one name in two Keystone domains are one user',
    ],
  ],
  ruleConfigMaps: ['webhook.policy.configMap', 'webhook.sync.configMap'],
  checkFiles: (configuration: WebhookReads, content) => checkWebhookFiles(configuration, content),
  metrics: Object.values(METRICS),
  reads({ webhook, authentication: { keystone }, tenancy, bindings, server }: WebhookReads, { file }) {
    if (webhook === undefined || keystone === undefined)
      return { webhook: undefined, policy: undefined, sync: undefined, groups: undefined };
    const { path, usernames, policy, sync, configMapInterval: interval } = webhook;
    const support = syncSupport({ bindings, tenancy });
    const rulesOf = (source: WebhookSource | undefined) =>
      source &&
      ('file' in source
        ? { text: file(source.file).toString('utf8'), support }
        : { configMap: source.configMap, interval, support });
    return {
      webhook: { path, usernames, bodyTimeout: server.timeouts.body, support },
      policy: rulesOf(policy),
      sync: rulesOf(sync),
      groups: {
        url: keystone.url,
        timeout: keystone.timeout,
        ...(keystone.caFile !== undefined && { ca: file(keystone.caFile).toString() }),
      },
    };
  },
});

export type WebhookParts = ReturnType<typeof webhook.reads>;
export type { ConfigMapReference } from './webhook-configuration.ts';
