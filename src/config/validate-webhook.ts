/**
 * The rules on the webhook beside the rest.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';

export function validateWebhook(configuration: StonegateConfiguration): Finding[] {
  const { webhook, authentication, tenancy } = configuration;
  if (webhook === undefined) return [];
  const findings = validateAddress(configuration, webhook.bind);
  if (authentication.keystone === undefined) {
    findings.push({
      path: ['authentication', 'keystone'],
      message: 'is required with webhook, which answers for the tokens of Keystone',
    });
  }
  if (webhook.usernames === 'legacy' && tenancy.mode === 'arktos') {
    findings.push({
      path: ['webhook', 'usernames'],
      message: 'expected qualified: in arktos mode the API server reads the tenant from the name',
      because: [['tenancy', 'mode']],
    });
  }
  return findings;
}

function validateAddress({ server, admin, portal }: StonegateConfiguration, bind: string): Finding[] {
  const others = { 'server.bind': server.bind, 'admin.bind': admin.bind, 'portal.bind': portal?.bind };
  return Object.entries(others)
    .filter(([, other]) => other === bind && !bind.endsWith(':0'))
    .map(([name]) => ({
      path: ['webhook', 'bind'],
      message: `expected another address than ${name}, ${bind}`,
      because: [name.split('.')],
    }));
}
