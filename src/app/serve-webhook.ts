/**
 * The webhook's listener: an address of its own beside the API's, which only clients with a certificate of its
 * authority may reach.
 */
import type { AddressInfo } from 'node:net';
import type { WebhookConfiguration } from '../api/config-v1alpha1.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import type { TwoStep } from '../lib/kept.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { TLSMaterial } from '../server/tls-material.ts';
import type { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';
import { createSideListener } from './side-listener.ts';
import { WebhookParts } from './webhook-parts.ts';

export interface WebhookService extends TwoStep {
  readonly address: AddressInfo;
  /** Of the rules that are kept in ConfigMaps. */
  readonly checks: readonly ReadinessCheck[];
  /**
   * What the next commit brings into force. Its `bind` stays as it was at the start.
   *
   * @throws Error where it cannot be used
   */
  prepare(loaded: LoadedConfiguration, stages: Stages): void;
  /** Resolves when no review that was begun with a former configuration is under way. */
  ended(): Promise<void>;
  /** @param grace milliseconds that reviews under way may still take */
  close(grace: number): Promise<void>;
}

/**
 * @returns undefined where no webhook is configured
 * @throws Error where the address is taken
 */
export async function startWebhook(
  loaded: LoadedConfiguration,
  { mode }: Stages,
  adapters: Adapters,
  around: Surroundings,
): Promise<WebhookService | undefined> {
  const { webhook, server } = loaded.configuration;
  if (webhook === undefined) return undefined;
  const parts = new WebhookParts(around, adapters);
  const listener = await createSideListener({
    ...around,
    name: 'webhook',
    parts: parts.kept,
    bind: webhook.bind,
    tls: tlsOf(loaded, webhook.tls),
    http2: server.http2,
    timeouts: server.timeouts,
    limits: server.limits,
    serve: parts.webhook(loaded, webhook, mode),
  });
  let prepared: WebhookConfiguration | undefined = webhook;
  return {
    address: listener.address,
    get checks() {
      return parts.checks;
    },
    prepare(next, stages) {
      prepared = next.configuration.webhook;
      listener.prepare(
        prepared && {
          serve: parts.webhook(next, prepared, stages.mode),
          tls: tlsOf(next, prepared.tls),
        },
      );
    },
    commit() {
      listener.commit();
      if (prepared !== undefined) sayWhatLegacyMeans(prepared, around);
    },
    rollback: () => listener.rollback(),
    ended: () => listener.ended(),
    close: (grace) => listener.close(grace),
  };
}

function tlsOf(loaded: LoadedConfiguration, tls: WebhookConfiguration['tls']): TLSMaterial {
  return {
    cert: loaded.file(tls.certFile),
    key: loaded.file(tls.keyFile),
    clientCA: loaded.file(tls.clientCAFile),
  };
}

function sayWhatLegacyMeans({ usernames }: WebhookConfiguration, { logger }: Surroundings): void {
  if (usernames === 'legacy') {
    logger.warn({}, 'webhook.usernames is legacy: users of one name in two Keystone domains are one user');
  }
}
